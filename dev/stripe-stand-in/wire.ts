// Answers in the form in which they are sent and kept, and the sending of them.
import type { ServerResponse } from 'node:http'
import type { StripeError } from './stripe-errors.ts'

/** An answer as it goes over the wire, its body in the very bytes that a replay repeats. */
export interface WireAnswer {
  status: number
  body: string
  /** The request that this answer was first given to, when it is a replay. */
  replayOf?: string
}

/** The answer that tells of a refusal. */
export function refusalAnswer({ status, body }: StripeError): WireAnswer {
  return { status, body: JSON.stringify(body) }
}

/** Sends an answer as it is. */
export function sendAnswer(res: ServerResponse, answer: WireAnswer): void {
  res.end(startAnswer(res, answer))
}

/** Sends the head of an answer and returns the body that it announces. */
export function startAnswer(res: ServerResponse, { status, body, replayOf }: WireAnswer): Buffer {
  const bytes = Buffer.from(body)
  const replayed = replayOf && { 'Idempotent-Replayed': 'true', 'Original-Request': replayOf }
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': bytes.length,
    ...replayed,
  })
  return bytes
}

/** Ends the connection with a TCP reset, without any answer. */
export function resetConnection(res: ServerResponse): void {
  res.socket?.resetAndDestroy()
}
