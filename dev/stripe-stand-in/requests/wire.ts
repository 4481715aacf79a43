// Makes answers in the serialized form in which they are sent, and also kept for replays.
import type { WireAnswer } from '../../stand-in/wire.ts'
import type { StripeError } from './stripe-errors.ts'

export function jsonAnswer(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): WireAnswer {
  return { status, body, contentType: 'application/json', headers }
}

/** @param requestId of the request that first got this answer. A replay repeats exactly its bytes. */
export function replayedAnswer(status: number, body: string, requestId: string): WireAnswer {
  return jsonAnswer(status, body, {
    'Idempotent-Replayed': 'true',
    'Original-Request': requestId,
  })
}

export function refusalAnswer({ status, body, headers }: StripeError): WireAnswer {
  return jsonAnswer(status, JSON.stringify(body), headers)
}
