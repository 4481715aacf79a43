// Sends answers in their serialized form.
import type { ServerResponse } from 'node:http'

/** A serialized answer. */
export interface WireAnswer {
  status: number
  body: string
  contentType: string
  headers?: Readonly<Record<string, string>>
}

export function sendAnswer(res: ServerResponse, answer: WireAnswer): void {
  res.end(startAnswer(res, answer))
}

/** Sends the head of an answer and returns the body, which the caller sends. */
export function startAnswer(
  res: ServerResponse,
  { status, body, contentType, headers }: WireAnswer,
): Buffer {
  const bytes = Buffer.from(body)
  res.writeHead(status, {
    'Content-Type': contentType,
    'Content-Length': bytes.length,
    ...headers,
  })
  return bytes
}

/** Closes the connection with a TCP reset and without an answer. */
export function resetConnection(res: ServerResponse): void {
  res.socket?.resetAndDestroy()
}
