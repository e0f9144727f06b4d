// Notes in the session which conversation something was said in last, so that `--resume` finds it, and what the run has used.
import { writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const dir = join(dirname(fileURLToPath(import.meta.url)), "tmp")
const note = (file, text, flag) => {
  try {
    writeFileSync(join(dir, file), text, { flag })
  } catch {}
}

export const ConversationNote = async () => {
  const ofHelpers = new Set()
  // Tokens and cost by message: each is told of again and again while it grows.
  const used = new Map()
  let task, firstMessage, model
  note("conversation", "", "wx")
  const noteUsage = () => {
    const sum = (key) => [...used.values()].reduce((total, one) => total + (one[key] || 0), 0)
    note("usage", JSON.stringify({ input: sum("input"), output: sum("output"), cost: sum("cost"), model, task }) + "\n", "w")
  }
  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      const part = event.properties?.part
      if (event.type === "session.created" && info?.parentID) ofHelpers.add(info.id)
      if (event.type === "message.updated" && info?.role === "user" && !ofHelpers.has(info.sessionID)) {
        note("conversation", info.sessionID, "w")
        firstMessage ??= info.id
      }
      if (event.type === "message.part.updated" && part?.type === "text" && part.messageID === firstMessage && !part.synthetic) {
        task ??= part.text
      }
      if (event.type === "message.updated" && info?.role === "assistant") {
        const { input = 0, output = 0, reasoning = 0, cache = {} } = info.tokens ?? {}
        model = info.modelID ?? model
        used.set(info.id, { input: input + (cache.read ?? 0) + (cache.write ?? 0), output: output + reasoning, cost: info.cost ?? 0 })
        noteUsage()
      }
    },
  }
}
