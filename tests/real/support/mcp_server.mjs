// An MCP server with one tool, `remember`, which appends what it is told and a variable of its environment to a file.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const tool = {
  name: "remember",
  description: "MCP-TOOL-DESCRIPTION: keeps a note",
  inputSchema: { type: "object", properties: { note: { type: "string" } }, required: ["note"] },
};

function answer({ method, params }) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "notes", version: "1" },
      };
    case "tools/list":
      return { tools: [tool] };
    case "tools/call":
      appendFileSync(process.argv[2], `${params.arguments.note} ${process.env.NOTES_SECRET}\n`);
      return { content: [{ type: "text", text: "MCP-TOOL-ANSWER" }] };
    default:
      return {};
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  // Notifications have no id and want no answer.
  if (request.id !== undefined) {
    console.log(JSON.stringify({ jsonrpc: "2.0", id: request.id, result: answer(request) }));
  }
}
