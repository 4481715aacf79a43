// Sends what happens to the browsers of operators: ids and states, and nothing else of a payment.
import {
  type UnfinishedOperation,
  listUnfinishedOperations,
} from '../../db/operators/unfinished-operations.ts'
import { showId } from '../../domain/resource-id.ts'
import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Store } from '../../db/connection/client.ts'
import { SESSION_ENDED_CHANNEL } from '../../db/connection/notifications.ts'
import { withinMs } from '../../db/connection/store-errors.ts'
import { findOpenConsoleSessions, type SessionLimits } from '../../db/operators/console-sessions.ts'
import type { IdleWatch } from '../keyed/idle-watch.ts'

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

export interface LiveViewers {
  count(): number
  isFull(): boolean
  /** Sends events to the response from now on, until its browser disconnects. */
  add(response: ServerResponse, tokenHash: Buffer): void
  /** Sends the text to all viewers. */
  send(text: string): void
  /** The hashes of the tokens of the sessions that watch. */
  tokenHashes(): Buffer[]
  /** Ends the connections of the sessions for which the condition is true. */
  end(reason: EndReason, isOver: (tokenHash: Buffer) => boolean): void
}

export function createLiveViewers(
  most = VIEWERS_MAX,
  unreadMaxBytes = UNREAD_MAX_BYTES,
): LiveViewers {
  const viewers = new Map<ServerResponse, Buffer>()
  return {
    count: () => viewers.size,
    isFull: () => viewers.size >= most,
    add(response, tokenHash) {
      viewers.set(response, tokenHash)
      response.once('close', () => viewers.delete(response))
    },
    send(text) {
      // Node copies a text for each connection, and bytes for none.
      const bytes = Buffer.from(text)
      for (const response of viewers.keys()) {
        if (response.writableLength > unreadMaxBytes) response.destroy()
        else response.write(bytes)
      }
    },
    tokenHashes: () => [...viewers.values()],
    end(reason, isOver) {
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

export interface LiveFeed {
  isFull(): boolean
  /** Sends events to the response until its browser disconnects or its session ends. */
  add(response: ServerResponse, tokenHash: Buffer): void
  /** Ends all connections. Later ones are ended at once. */
  stop(): void
}

interface FeedParts {
  readonly store: Pick<Store, 'sql' | 'listen'>
  readonly watch: Pick<IdleWatch, 'onIdle'>
  readonly log: Logger
  readonly limits: SessionLimits
  readonly timeoutMs: number
}

export function createLiveFeed({
  store: { sql, listen },
  watch,
  log,
  limits,
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
    const open = await withinMs(timeoutMs, findOpenConsoleSessions(sql, hashes, limits))
    // Viewers that came meanwhile are not among the hashes.
    const hasEnded = (tokenHash: Buffer) => !open.has(tokenHash.toString('hex'))
    viewers.end('session', (tokenHash) => hashes.includes(tokenHash) && hasEnded(tokenHash))
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
