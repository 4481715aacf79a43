// Sends answers in their serialized form, in which they are also kept for replays.
import type { ServerResponse } from 'node:http'
import type { StripeError } from './stripe-errors.ts'

/** A serialized answer. A replay repeats exactly these bytes. */
export interface WireAnswer {
  status: number
  body: string
  /** For a replay, the id of the request that first got this answer. */
  replayOf?: string
  headers?: Readonly<Record<string, string>>
}

export function refusalAnswer({ status, body, headers }: StripeError): WireAnswer {
  return { status, body: JSON.stringify(body), headers }
}

export function sendAnswer(res: ServerResponse, answer: WireAnswer): void {
  res.end(startAnswer(res, answer))
}

/** Sends the head of an answer and returns the body, which the caller sends. */
export function startAnswer(
  res: ServerResponse,
  { status, body, replayOf, headers }: WireAnswer,
): Buffer {
  const bytes = Buffer.from(body)
  const replayed = replayOf && { 'Idempotent-Replayed': 'true', 'Original-Request': replayOf }
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': bytes.length,
    ...headers,
    ...replayed,
  })
  return bytes
}

/** Closes the connection with a TCP reset and without an answer. */
export function resetConnection(res: ServerResponse): void {
  res.socket?.resetAndDestroy()
}
