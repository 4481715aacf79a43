// GET /console/live: sends what happens to the browsers of operators, ids and states, and nothing else of
// a payment.
import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { showId } from '../../domain/resource-id.ts'
import type { Sql, Store } from '../../db/connection/client.ts'
import { SESSION_ENDED_CHANNEL } from '../../db/connection/notifications.ts'
import { withinMs } from '../../db/connection/store-errors.ts'
import { objectsOf } from '../../db/connection/rows.ts'
import { asService } from '../../db/connection/transaction.ts'
import type { idempotencyKeys } from '../../db/schema/idempotency-keys.ts'
import { type LiveFeed, withSession, type SessionEndpoint } from '../endpoint.ts'
import type { IdleWatch } from '../keyed/idle-watch.ts'
import { EVENT_STREAM, hasEnded } from './authenticate-session.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'

/** Where an operation is now. The lease epoch advances when another worker takes over. */
type UnfinishedOperation = Pick<
  typeof idempotencyKeys.$inferSelect,
  'tenantId' | 'id' | 'operation' | 'paymentId' | 'status' | 'recoveryPoint' | 'leaseEpoch'
>

/** An event names so many operations at most. */
const OPERATIONS_MAX = 50

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** Operations that have become idle: a list that shows them is stale. */
function changedEvent(ids: readonly string[]): string {
  const shown = ids.filter((id) => UUID.test(id)).slice(0, OPERATIONS_MAX)
  const operations = shown.map((id) => showId('op', id))
  return renderEvent('changed', { operations, has_more: ids.length > OPERATIONS_MAX })
}

/** All operations that wait for a worker or run, and all unknown ones, as they are now. */
function unfinishedEvent(operations: readonly UnfinishedOperation[]): string {
  return renderEvent('unfinished', { operations: operations.map(present) })
}

/** The last event. After `session` the operator has to log in, after `shutdown` connect again. */
function endEvent(reason: EndReason): string {
  return renderEvent('end', { reason })
}

type EndReason = 'shutdown' | 'session'

function present(operation: UnfinishedOperation): Record<string, unknown> {
  const { tenantId, id, paymentId } = operation
  return {
    operation: showId('op', id),
    kind: operation.operation,
    tenant: showId('tnt', tenantId),
    payment: paymentId === null ? null : showId('pay', paymentId),
    status: operation.status,
    recovery_point: operation.recoveryPoint,
    lease_epoch: operation.leaseEpoch,
  }
}

/** JSON has no line breaks, so that one line holds it. */
function renderEvent(event: string, value: Readonly<Record<string, unknown>>): string {
  return `event: ${event}\ndata: ${JSON.stringify(value)}\n\n`
}

/** Each costs a connection. Operators are few, and each has a few pages open. */
const VIEWERS_MAX = 50

/** A viewer with more unread bytes is cut off. Its browser connects again when it can. */
const UNREAD_MAX_BYTES = 262_144

type LiveViewers = ReturnType<typeof createLiveViewers>

export function createLiveViewers(most = VIEWERS_MAX, unreadMaxBytes = UNREAD_MAX_BYTES) {
  const viewers = new Map<ServerResponse, Buffer>()
  return {
    count: () => viewers.size,
    isFull: () => viewers.size >= most,
    /** Sends events to the response from now on, until its browser disconnects. */
    add(response: ServerResponse, tokenHash: Buffer): void {
      viewers.set(response, tokenHash)
      response.once('close', () => viewers.delete(response))
    },
    /** Sends the text to all viewers. */
    send(text: string): void {
      // Node copies a text for each connection, and bytes for none.
      const bytes = Buffer.from(text)
      for (const response of viewers.keys()) {
        if (response.writableLength > unreadMaxBytes) response.destroy()
        else response.write(bytes)
      }
    },
    /** The hashes of the tokens of the sessions that watch. */
    tokenHashes: () => [...viewers.values()],
    /** Ends the connections of the sessions for which the condition is true. */
    end(reason: EndReason, isOver: (tokenHash: Buffer) => boolean): void {
      for (const [response, tokenHash] of viewers) {
        if (!isOver(tokenHash)) continue
        viewers.delete(response)
        response.end(endEvent(reason))
      }
    },
  }
}

const LOOK_INTERVAL_MS = 1_000

/**
 * In looks: how often sessions are checked, which end by time, too, and how often heartbeats are sent.
 */
const LOOKS_PER_CHECK = 5

const LOOKS_PER_HEARTBEAT = 10

/** The announcements of this time make one event. */
const COALESCE_MS = 250

interface FeedParts {
  readonly store: Pick<Store, 'sql' | 'listen'>
  readonly watch: Pick<IdleWatch, 'onIdle'>
  readonly log: Logger
  readonly idleSeconds: number
  readonly timeoutMs: number
}

export function createLiveFeed({
  store: { sql, listen },
  watch,
  log,
  idleSeconds,
  timeoutMs,
}: FeedParts): LiveFeed {
  const viewers = createLiveViewers()
  let looks = 0
  /** What all viewers were sent last. */
  let shown: string | undefined
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const showUnfinished = async () => {
    const event = unfinishedEvent(
      await withinMs(timeoutMs, listUnfinishedOperations(sql, OPERATIONS_MAX)),
    )
    if (event !== shown) viewers.send(event)
    shown = event
  }
  const endSessions = async () => {
    const hashes = viewers.tokenHashes()
    const open = await withinMs(timeoutMs, findOpenSessions(sql, hashes, idleSeconds))
    const isOpen = (tokenHash: Buffer) => open.has(tokenHash.toString('hex'))
    // Viewers that came meanwhile are not among the hashes.
    viewers.end('session', (tokenHash) => hashes.includes(tokenHash) && !isOpen(tokenHash))
  }
  const look = async () => {
    looks += 1
    if (looks % LOOKS_PER_HEARTBEAT === 0) viewers.send(': heartbeat\n\n')
    try {
      if (looks % LOOKS_PER_CHECK === 0) await endSessions()
      await showUnfinished()
    } catch (error) {
      log.warn({ err: error }, 'could not look for those who watch the console')
    }
    timer = undefined
    lookAfter(LOOK_INTERVAL_MS)
  }
  const lookAfter = (ms: number) => {
    if (viewers.count() > 0) timer ??= setTimeout(() => void look(), ms).unref()
  }
  watch.onIdle(gatherChanges(viewers))
  listen(
    SESSION_ENDED_CHANNEL,
    (hash) => viewers.end('session', (tokenHash) => tokenHash.toString('hex') === hash),
    // The next check finds what was missed.
    () => {},
  )
  return {
    isFull: () => viewers.isFull(),
    add(response, tokenHash) {
      const isFirst = viewers.count() === 0
      viewers.add(response, tokenHash)
      if (stopped) return viewers.end('shutdown', () => true)
      if (isFirst) shown = undefined
      // The next look shows it only if something has changed.
      else if (shown !== undefined) response.write(shown)
      lookAfter(0)
    },
    stop() {
      stopped = true
      viewers.end('shutdown', () => true)
      clearTimeout(timer)
    },
  }
}

/** Returns what receives the ids of idle operations. */
function gatherChanges(viewers: LiveViewers): (ids: readonly string[]) => void {
  const changed = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    timer = undefined
    viewers.send(changedEvent([...changed]))
    changed.clear()
  }
  return (ids) => {
    if (viewers.count() === 0) return
    for (const id of ids) if (changed.size <= OPERATIONS_MAX) changed.add(id)
    timer ??= setTimeout(flush, COALESCE_MS).unref()
  }
}

/** Finds the sessions that have not ended among these. Returns the hashes of their tokens as hex. */
export async function findOpenSessions(
  sql: Sql,
  tokenHashes: readonly Buffer[],
  idleSeconds: number,
): Promise<ReadonlySet<string>> {
  const hashes = tokenHashes.map((tokenHash) => tokenHash.toString('hex'))
  const rows = await sql<{ hash: string }[]>`
    select encode(token_hash, 'hex') as hash from console_sessions
    where encode(token_hash, 'hex') = any(${hashes}::text[]) and not ${hasEnded(sql, idleSeconds)}
  `
  return new Set(rows.map(({ hash }) => hash))
}

/** Lists the oldest operations that wait for a worker or run, then the oldest unknown outcomes. */
export async function listUnfinishedOperations(
  sql: Sql,
  limit: number,
): Promise<UnfinishedOperation[]> {
  const oldest = await asService(sql)`
    with unfinished as (
      select tenant_id, id, operation, payment_id, status, recovery_point, lease_epoch, created_at
      from idempotency_keys
      where status in ('pending', 'processing')
      order by created_at
      limit ${limit}
    ),
    unknown as (
      select tenant_id, id, operation, payment_id, status, recovery_point, lease_epoch, created_at
      from idempotency_keys
      where status = 'unknown'
      order by next_check_at desc
      limit ${limit}
    )
    select * from (select * from unfinished union all select * from unknown) as watched
    order by status = 'unknown', created_at, id
  `
  return objectsOf<UnfinishedOperation>(oldest)
}

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
