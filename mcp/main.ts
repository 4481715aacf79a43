// `npm run mcp`: serves the payment tools to MCP clients, over stdio or streamable HTTP.
import type { AddressInfo } from 'node:net'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { createClient } from '../client/index.ts'
import { UsageError } from './errors.ts'
import { serveHttp } from './http.ts'
import { createServer } from './server.ts'
import { readSettings, USAGE, type Settings } from './settings.ts'

const USAGE_ERROR = 2

/** Shorter than the minute for which MCP clients usually wait. */
const RETRY = { deadlineMs: 25_000, tryTimeoutMs: 15_000, maxFailures: 4 }

try {
  const settings = readSettings(process.argv.slice(2), process.env)
  if (settings === undefined) process.stdout.write(USAGE)
  else await serve(settings)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`mcp: ${error.message}\n`)
  process.exitCode = USAGE_ERROR
}

async function serve({ apiUrl, apiKey, http }: Settings): Promise<void> {
  const client = createClient({ baseUrl: apiUrl, apiKey, retry: RETRY })
  if (http === undefined) {
    // Standard output belongs to the protocol.
    await createServer(client).connect(new StdioServerTransport())
    return
  }
  const server = await serveHttp(client, http)
  const { port } = server.address() as AddressInfo
  process.stderr.write(`mcp: listening on http://${http.host}:${port}/mcp\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      server.close()
      server.closeIdleConnections()
    })
  }
}
