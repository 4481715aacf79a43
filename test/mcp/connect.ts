// Connects the SDK's client to the MCP server of a test, over stdio or HTTP, and calls tools.
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Payment, Refund } from '../../client/index.ts'
import { compileCache, programOf } from '../support/programs.ts'
import type { Tenant } from '../support/service.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export const TOKEN = 'a-token-of-the-test-with-32-characters'

/** What a tool answered. */
export interface Answer {
  readonly message: string
  readonly outcome: string
  readonly payment?: Payment
  readonly refund?: Refund
  readonly isError: boolean
  readonly differences?: readonly unknown[]
  readonly structured?: Record<string, unknown>
  /** Everything that the agent gets. */
  readonly text: string
}

export interface Agent {
  readonly client: Client
  readonly call: (
    name: string,
    input: Record<string, unknown>,
    signal?: AbortSignal,
  ) => Promise<Answer>
}

/** Starts `npm run mcp` as an MCP client would. */
export async function connectStdio(apiUrl: string, { apiKey }: Tenant): Promise<Agent> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    NODE_COMPILE_CACHE: compileCache(),
    ATOMIC_URL: apiUrl,
    ATOMIC_API_KEY: apiKey,
  }
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [programOf('mcp/main.ts')],
    cwd: ROOT,
    env,
  })
  return await connect(transport)
}

export async function connectHttp(url: string): Promise<Agent> {
  const headers = { authorization: `Bearer ${TOKEN}` }
  return await connect(
    new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } }),
  )
}

async function connect(transport: Parameters<Client['connect']>[0]): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  // The client then checks each answer against the schema of its tool.
  await client.listTools()
  return {
    client,
    async call(name, input, signal) {
      const result = await client.callTool(
        { name, arguments: input },
        undefined,
        signal === undefined ? {} : { signal },
      )
      const [message, told] = result.content as { text: string }[]
      return {
        ...(told === undefined ? {} : (JSON.parse(told.text) as object)),
        message: message?.text ?? '',
        isError: result.isError === true,
        structured: result.structuredContent,
        text: JSON.stringify(result),
      } as Answer
    },
  }
}
