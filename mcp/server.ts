// The MCP server: registers the tools, and gives their results to the client of the protocol.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { Client } from '../client/index.ts'
import { toldShape, type Told } from './told.ts'
import { inputSchemaOf, type Tool } from './tool.ts'
import { cancelTool, captureTool } from './tools/capture.ts'
import { explainTool, lookUpTool } from './tools/lookup.ts'
import { payTool } from './tools/pay.ts'
import { refundTool } from './tools/refund.ts'

const tools: readonly Tool[] = [
  payTool,
  lookUpTool,
  captureTool,
  cancelTool,
  refundTool,
  explainTool,
]

const INSTRUCTIONS =
  'Pay with the reference of the order, and use the same reference for every try of that order. After a crash or a lost answer, repeat the same call: nothing is charged twice. When an outcome is not known yet, do not pay in another way; call look_up.'

export function createServer(client: Client): McpServer {
  const info = { name: 'atomic-payments', version: '1.0.0' }
  const server = new McpServer(info, { instructions: INSTRUCTIONS })
  for (const tool of tools) {
    const { name, description, annotations, run } = tool
    const schemas = { inputSchema: inputSchemaOf(tool), outputSchema: toldShape }
    server.registerTool(
      name,
      { title: annotations.title, description, annotations, ...schemas },
      async (given) => showTold(await run(client, given)),
    )
  }
  return server
}

function showTold(all: Told) {
  const { message, ...told } = all
  return {
    content: [
      { type: 'text' as const, text: message },
      { type: 'text' as const, text: JSON.stringify(told) },
    ],
    structuredContent: { ...all },
    // What is not known yet is no error: an agent would simply repeat the call.
    isError: told.outcome === 'refused' || told.differences !== undefined,
  }
}
