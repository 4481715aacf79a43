// Keeps one part of the stack running: restarts it each time it ends. The pause before a restart
// doubles while the part keeps ending early.
import { setTimeout as delay } from 'node:timers/promises'

/** A running process: one of the service's processes, or PostgreSQL. */
export interface Part<Handle = void> {
  /** Resolves when the part works, with a handle to it. Rejects when the part ends before that. */
  readonly ready: Promise<Handle>
  /** Resolves when the part has ended, with a description such as "ended by SIGKILL". */
  readonly ended: Promise<string>
  /** Starts a graceful shutdown. */
  stop(): void
  /** Ends the part at once. */
  kill(): void
}

export type SupervisedPart<Handle = void> = ReturnType<typeof supervise<Handle>>

export interface RestartPauses {
  readonly shortestMs: number
  readonly longestMs: number
  /** A part that ran for this long restarts after the shortest pause. */
  readonly stableMs: number
}

const RESTART_PAUSES: RestartPauses = { shortestMs: 200, longestMs: 5_000, stableMs: 10_000 }

/** Starts a part, and restarts it each time it ends, until it is stopped. */
export function supervise<Handle>(
  start: () => Part<Handle>,
  log: (line: string) => void,
  pauses: RestartPauses = RESTART_PAUSES,
) {
  const stopping = new AbortController()
  let part = start()
  const { ready } = part
  const finished = restartUntilStopped()

  async function restartUntilStopped(): Promise<void> {
    let pauseMs = pauses.shortestMs
    for (;;) {
      const startedAt = performance.now()
      const how = await part.ended
      if (stopping.signal.aborted) return
      if (performance.now() - startedAt >= pauses.stableMs) pauseMs = pauses.shortestMs
      log(`${how}; restarting in ${pauseMs} ms`)
      // It rejects only when the signal is aborted, which the next line checks.
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return
      pauseMs = Math.min(pauseMs * 2, pauses.longestMs)
      part = start()
      // The caller observes only the first start: a later rejection would be unhandled.
      part.ready.catch(() => {})
    }
  }

  return {
    /** Of the first start. Later restarts do not change it. */
    ready,
    /** Shuts the part down without a restart. Resolves when it has ended. */
    async stop() {
      stopping.abort()
      part.stop()
      await finished
    },
    /** Ends the part at once and without a restart. May be called while `stop` waits. */
    kill() {
      stopping.abort()
      part.kill()
    },
    /** Ends the part at once. It is restarted, as after any crash. */
    crash: () => part.kill(),
  }
}
