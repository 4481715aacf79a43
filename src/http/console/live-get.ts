// GET /console/live: server-sent events for the browser of an operator, until the session ends.
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { SessionEndpoint } from '../endpoint.ts'
import { EVENT_STREAM } from './live-events.ts'

/** Tells a browser how long to wait before it connects again. */
const FIRST_LINE = 'retry: 2000\n\n'

const headers = {
  'content-type': `${EVENT_STREAM}; charset=utf-8`,
  // nginx would gather the events.
  'x-accel-buffering': 'no',
}

export const getLive: SessionEndpoint = async ({ live }, request, { tokenHash }) => {
  if (live.isFull()) throw new ProblemError('overloaded')
  if (request.method === 'HEAD') return { status: 200, headers, body: '' }
  return {
    status: 200,
    headers,
    body: FIRST_LINE,
    goOn: (response) => live.add(response, tokenHash),
  }
}
