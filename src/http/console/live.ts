// GET /console/live: a stream of what happens, see live-feed.ts.
import { withSession } from '../server/route.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { SessionEndpoint } from '../endpoint.ts'

/** The media type, which a browser asks for when it waits for events. */
export const EVENT_STREAM = 'text/event-stream'

/** Tells a browser how long to wait before it connects again. */
const FIRST_LINE = 'retry: 2000\n\n'

const headers = {
  'content-type': `${EVENT_STREAM}; charset=utf-8`,
  // nginx would gather the events.
  'x-accel-buffering': 'no',
}

const getLive: SessionEndpoint = async ({ live }, request, { tokenHash }) => {
  if (live.isFull()) throw new ProblemError('overloaded')
  if (request.method === 'HEAD') return { status: 200, headers, body: '' }
  return {
    status: 200,
    headers,
    body: FIRST_LINE,
    goOn: (response) => live.add(response, tokenHash),
  }
}

export const liveEndpoints: Endpoints = {
  'GET /console/live': {
    serve: withSession(getLive),
    operationId: 'watchLive',
    tag: 'Console',
    summary: 'Watch what happens',
    description:
      'Sends server-sent events until the client disconnects or the session ends. `unfinished` has all operations that wait or run, and all unknown ones, when they have changed. `changed` has the ids of operations that have become idle, so that lists which show them are stale. `end` is the last event: its `reason` is `session` or `shutdown`.',
    answers: {
      200: {
        description: 'The stream of events.',
        texts: ['text/event-stream'],
        headers: ['X-Accel-Buffering'],
      },
    },
  },
}
