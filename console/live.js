// Tells pages when to read again: on events of the service, and by a timer where there are none.
// All pages share one connection. Without it, for example behind a proxy that holds events back,
// pages read more often.
import { useEffect } from 'preact/hooks'
import { read } from './api.js'

/** Events that come faster than this make one. */
const COALESCE_MS = 1_000
const RECONNECT_MS = 15_000
const EVERY_MS = 5_000

/** @type {Set<() => void>} */
const watchers = new Set()
/** @type {EventSource | undefined} */
let source
let connected = false
/** @type {ReturnType<typeof setTimeout> | undefined} */
let announcing
/** @type {ReturnType<typeof setTimeout> | undefined} */
let reconnecting

function announce() {
  announcing ??= setTimeout(() => {
    announcing = undefined
    for (const watch of watchers) watch()
  }, COALESCE_MS)
}

function connect() {
  clearTimeout(reconnecting)
  source = new EventSource('/console/live')
  source.addEventListener('open', () => {
    connected = true
  })
  source.addEventListener('unfinished', announce)
  source.addEventListener('changed', announce)
  // After `end` the browser would connect again at once, also without a session.
  source.addEventListener('end', () => retryLater(true))
  source.addEventListener('error', () => retryLater(false))
}

/** @param {boolean} hasEnded */
function retryLater(hasEnded) {
  disconnect()
  if (hasEnded) void read('/console/session', { background: true }).catch(() => {})
  reconnecting = setTimeout(() => {
    if (watchers.size > 0) connect()
  }, RECONNECT_MS)
}

function disconnect() {
  clearTimeout(reconnecting)
  source?.close()
  source = undefined
  connected = false
}

/**
 * Calls `work` when something may have changed.
 *
 * @param {() => void} work
 * @param {number} everyMs how often without events.
 * @param {boolean} byEvents
 */
export function useRefresh(work, everyMs, byEvents) {
  useEffect(() => {
    if (everyMs === 0 && !byEvents) return undefined
    const refresh = () => {
      if (!document.hidden) work()
    }
    const slowly = byEvents ? 5 : 1
    let ticks = 0
    const timer = setInterval(() => {
      ticks += 1
      if (!connected || ticks % slowly === 0) refresh()
    }, everyMs || EVERY_MS)
    if (byEvents) watchers.add(refresh)
    if (byEvents && source === undefined) connect()
    return () => {
      clearInterval(timer)
      watchers.delete(refresh)
      if (watchers.size === 0) disconnect()
    }
  }, [work, everyMs, byEvents])
}
