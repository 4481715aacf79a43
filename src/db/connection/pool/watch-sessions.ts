// Watches the sessions of a pool: gives up those whose server is silent, or was replaced as the primary.
import type { Database } from '../driver.ts'
import { isReplacedBy } from '../server/server.ts'
import type { Slot } from './slots.ts'

const INTERVAL_MS = 1_000
/** Work that takes longer may wait for a server that was replaced. */
const SLOW_MS = 1_000
/** Otherwise the primary is looked for this often: a former one may answer as if nothing had happened. */
const LOOK_MS = 5_000

interface WatchOptions {
  /** How long a server may be silent during work. It limits each statement itself, and says so sooner. */
  readonly limitMs: number
  readonly database: Pick<Database, 'findPrimary'>
}

/** Returns a function that stops it. A machine that was cut off closes no connection. */
export function watchSessions(
  slots: readonly Slot[],
  { limitMs, database }: WatchOptions,
): () => void {
  const endSilent = watchSilence(slots, limitMs)
  let lookedAtMs = performance.now()
  const followPrimary = async () => {
    const isDue = performance.now() - lookedAtMs > LOOK_MS
    if (!isDue && !slots.some(isSlow)) return
    lookedAtMs = performance.now()
    try {
      const { server: primary } = await database.findPrimary()
      for (const slot of slots) {
        const { server } = slot.session
        if (server && isReplacedBy(server, primary, isSlow(slot))) slot.session.lose()
      }
    } catch {
      // There is none yet. Work that waits has its own limit.
    }
  }
  const timers = [
    setInterval(() => void followPrimary(), SLOW_MS),
    setInterval(endSilent, Math.min(INTERVAL_MS, limitMs / 4)),
  ]
  for (const timer of timers) timer.unref()
  return () => timers.forEach((timer) => clearInterval(timer))
}

const isSlow = ({ work }: Slot): boolean =>
  work !== undefined && performance.now() - work.atMs > SLOW_MS

/** Returns a function that ends each session whose server has said nothing for that long during work. */
function watchSilence(slots: readonly Slot[], limitMs: number): () => void {
  const heard = new Map<
    Slot,
    { readonly work: unknown; readonly bytes: number; readonly atMs: number }
  >()
  return () => {
    for (const slot of slots) {
      const { session, work } = slot
      const last = heard.get(slot)
      const bytes = session.bytesHeard
      if (last === undefined || last.work !== work || last.bytes !== bytes || session.mayBeSilent) {
        heard.set(slot, { work, bytes, atMs: performance.now() })
      } else if (work !== undefined && performance.now() - last.atMs > limitMs) session.lose()
    }
  }
}
