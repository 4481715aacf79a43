// Ends an answer that closes the connection before its request has arrived whole.
import type { ServerResponse } from 'node:http'

/** For the client to send the rest, and to read the answer. */
const LINGER_MS = 2_000

/**
 * Sends the body, and reads and discards the rest of the request for a while before it closes. A
 * connection that is closed with unread bytes is reset, and the client may lose the answer (RFC 9112
 * section 9.6).
 */
export function endLingering(response: ServerResponse, body: string | Buffer): void {
  const { req: request } = response
  if (request.complete) {
    response.end(body)
    return
  }
  response.write(body)
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, LINGER_MS)
  request.once('close', end)
  request.once('end', end)
  request.resume()
}
