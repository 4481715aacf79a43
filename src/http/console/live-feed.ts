// Feeds the browsers that watch: one look at the store each second for all of them, and what the
// process hears by its listening connection: idle operations, and sessions that their operators ended.
// Without viewers it does nothing.
import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Store } from '../../db/connection/client.ts'
import { SESSION_ENDED_CHANNEL } from '../../db/connection/notifications.ts'
import { withinMs } from '../../db/connection/deadline.ts'
import { findOpenConsoleSessions, type SessionLimits } from '../../db/operators/console-sessions.ts'
import { listUnfinishedOperations } from '../../db/operators/unfinished-operations.ts'
import type { IdleWatch } from '../keyed/idle-watch.ts'
import { changedEvent, unfinishedEvent, OPERATIONS_MAX } from './live-events.ts'
import { createLiveViewers, type LiveViewers } from './live-viewers.ts'

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

export function createLiveFeed(
  { store: { sql, listen }, watch, log, limits, timeoutMs }: FeedParts,
  viewers: LiveViewers = createLiveViewers(),
): LiveFeed {
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
