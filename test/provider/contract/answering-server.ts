// A server that answers every request in the same way, for behaviour that no provider shows by
// itself. It counts the requests, because the adapter must never repeat one.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface AnsweringServer {
  readonly url: string
  /** How many requests have arrived. */
  readonly requests: () => number
  /** Stops listening. New connections are refused from now on. */
  readonly refuse: () => void
  readonly close: () => Promise<void>
}

export async function startAnsweringServer(
  listener: RequestListener,
  host = '127.0.0.1',
): Promise<AnsweringServer> {
  let requests = 0
  const server = createServer((request, response) => {
    requests += 1
    listener(request, response)
  })
  server.listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    requests: () => requests,
    refuse: () => void server.close(),
    close: async () => {
      if (server.listening) server.close()
      server.closeAllConnections()
    },
  }
}

/** Answers every request with this status and this JSON body. */
export function answerJson(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): RequestListener {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  }
}

/** Answers every request with this status and this text, of this type. */
export function answerText(status: number, body: string, contentType: string): RequestListener {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': contentType })
    response.end(body)
  }
}
