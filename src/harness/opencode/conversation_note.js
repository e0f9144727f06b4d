// Notes in the session which conversation something was said in last, so that `--resume` finds it.
import { writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const file = join(dirname(fileURLToPath(import.meta.url)), "tmp", "conversation")
const note = (id, flag) => {
  try {
    writeFileSync(file, id, { flag })
  } catch {}
}

export const ConversationNote = async () => {
  const ofHelpers = new Set()
  note("", "wx")
  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      if (event.type === "session.created" && info?.parentID) ofHelpers.add(info.id)
      if (event.type === "message.updated" && info?.role === "user" && !ofHelpers.has(info.sessionID)) note(info.sessionID, "w")
    },
  }
}
