// Serves MCP over streamable HTTP, without sessions: each POST has a server of its own. It follows the
// security warning of https://modelcontextprotocol.io/specification/2025-11-25/basic/transports:
// it listens on loopback, checks Host and Origin against DNS rebinding, and requires a token.
import { createHash, timingSafeEqual } from 'node:crypto'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Client } from '../client/index.ts'
import { createServer } from './server.ts'
import type { HttpSettings } from './settings.ts'

const PATH = '/mcp'
/** The name of the scheme is case-insensitive, and spaces follow it (RFC 9110 section 11.4). */
const BEARER = /^Bearer +(\S+)$/i
/** Far more than the arguments of a tool. */
const BODY_BYTES_MAX = 100_000
const REQUEST_TIMEOUT_MS = 30_000

/** Resolves when the server listens. */
export async function serveHttp(client: Client, settings: HttpSettings): Promise<Server> {
  const server = createHttpServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    void answer(client, settings, request, response).catch(() => refuse(response, 500))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(settings.port, settings.host, resolve)
  })
  return server
}

async function answer(
  client: Client,
  settings: HttpSettings,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const status = findRefusal(settings, request)
  if (status !== undefined) return refuse(response, status)
  const body = await readBody(request)
  if (body === undefined) return refuse(response, 413)
  const server = createServer(client)
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  response.once('close', () => void server.close())
  await server.connect(transport)
  await transport.handleRequest(request, response, body)
}

/** The status that refuses the request. Nothing of its body is read before. */
function findRefusal(
  { hosts, origins, token }: HttpSettings,
  { headers, method, url = '' }: IncomingMessage,
): number | undefined {
  const { host = '', origin, authorization = '' } = headers
  // A page of another site that a browser resolves to this address has its own name here.
  if (!hosts.includes(URL.parse(`http://${host}`)?.hostname ?? '')) return 403
  if (origin !== undefined && !origins.includes(origin)) return 403
  if (!isSame(BEARER.exec(authorization)?.[1] ?? '', token)) return 401
  if (url !== PATH) return 404
  // Without sessions there is no stream to open, and none to end.
  return method === 'POST' ? undefined : 405
}

/** Compares in a time that does not depend on the text. */
function isSame(one: string, other: string): boolean {
  const [first, second] = [one, other].map((text) => createHash('sha256').update(text).digest())
  return first !== undefined && second !== undefined && timingSafeEqual(first, second)
}

/** The JSON of the body; null when it is none, which the transport refuses. Undefined: too large. */
async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown
  } catch {
    return null
  }
}

function refuse(response: ServerResponse, status: number): void {
  if (response.headersSent) return void response.destroy()
  const error = { code: -32_000, message: 'refused' }
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(status === 401 && { 'www-authenticate': 'Bearer realm="atomic-payments-mcp"' }),
    ...(status === 405 && { allow: 'POST' }),
    connection: 'close',
  })
  response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }))
}
