// A reverse proxy that delivers requests to a real service, and gives the client other answers than
// the service gave. The test lists them; each request that the test chooses gets the next one.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listening } from '../support/listening.ts'

export type Substitute = (response: ServerResponse) => void

export interface SubstitutingProxy {
  readonly url: string
  /** The answers of the next POSTs. Later ones get the service's own. */
  readonly substitutes: Substitute[]
  stop(): Promise<void>
}

export async function startSubstitutingProxy(target: string): Promise<SubstitutingProxy> {
  const substitutes: Substitute[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers } = request
    const substitute = method === 'POST' ? substitutes.shift() : undefined
    const answer = await fetch(`${target}${url}`, {
      method,
      headers: headersOf(headers),
      ...(method === 'POST' ? { body: Buffer.concat(await request.toArray()) } : {}),
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    if (substitute !== undefined) return substitute(response)
    const type = answer.headers.get('content-type')
    response.writeHead(answer.status, type === null ? {} : { 'content-type': type }).end(bytes)
  }
  const server = createServer((request, response) => void serve(request, response))
  return { ...(await listening(server)), substitutes }
}

const PASSED_ON = ['authorization', 'content-type', 'idempotency-key', 'prefer']

function headersOf(headers: IncomingMessage['headers']): Record<string, string> {
  const known = PASSED_ON.map((name) => [name, headers[name]])
  return Object.fromEntries(known.filter(([, value]) => typeof value === 'string'))
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** What stands between a client and the service in the field, and answers itself. */
export const FOREIGN_ANSWERS: readonly (readonly [string, Substitute])[] = [
  ...[301, 302, 303, 307, 308].map(
    (status) => [`redirect ${status}`, reply(status, '', { location: '/v1/payments' })] as const,
  ),
  ...[520, 522, 524, 529, 502, 404, 403, 200].map(
    (status) =>
      [`${status} with a page`, reply(status, '<html>', { 'content-type': 'text/html' })] as const,
  ),
  ['201 with a page that says it is JSON', reply(201, '<html>', JSON_TYPE)],
  [
    '200 with a resource that says it is a page',
    reply(200, '{"object":"payment"}', { 'content-type': 'text/html' }),
  ],
  ['an empty 200', reply(200, '')],
  ['an empty 200 of JSON', reply(200, '', JSON_TYPE)],
  ['204', reply(204, '')],
  ['201 with an object of nothing', reply(201, '{}', JSON_TYPE)],
  ['201 with a list', reply(201, '[]', JSON_TYPE)],
  ['200 with null', reply(200, 'null', JSON_TYPE)],
  ['200 of another service', reply(200, '{"status":"ok"}', JSON_TYPE)],
  ['403 of another service', reply(403, '{"message":"Forbidden"}', JSON_TYPE)],
  [
    '524 with a problem of a proxy',
    reply(524, '{"type":"https://cdn.example/524","status":524}', {
      'content-type': 'application/problem+json',
    }),
  ],
]

export function reply(
  status: number,
  body: string,
  headers: Record<string, string> = {},
): Substitute {
  return (response) => void response.writeHead(status, headers).end(body)
}
