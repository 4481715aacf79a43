// Keeps one part of the stack running: whatever ends it, it is started again, after a pause that
// grows while it keeps ending soon.
import { setTimeout as delay } from 'node:timers/promises'

/** Something that runs: a process of ours, or PostgreSQL. */
export interface Part<Handle = void> {
  /** Resolves when it works, with what others use it by; rejects when it ends before. */
  readonly ready: Promise<Handle>
  /** Resolves when it has ended, with how it ended, in words. */
  readonly ended: Promise<string>
  /** Asks it to finish what it does, and to end. */
  stop(): void
  /** Ends it at once. */
  kill(): void
}

export interface SupervisedPart<Handle = void> {
  /** Resolves when the part first works; rejects when it ended before. Later ends only restart it. */
  readonly ready: Promise<Handle>
  /** Ends the part for good, and resolves when it has ended. */
  stop(): Promise<void>
  /** Ends the part for good without waiting for what it does, also while `stop` waits for it. */
  kill(): void
}

export interface RestartPauses {
  readonly shortestMs: number
  readonly longestMs: number
  /** A part that ran for this long starts again after the shortest pause. */
  readonly stableMs: number
}

const RESTART_PAUSES: RestartPauses = { shortestMs: 200, longestMs: 5_000, stableMs: 10_000 }

/** Starts a part, and starts it again each time it ends, until it is stopped. */
export function supervise<Handle>(
  start: () => Part<Handle>,
  log: (line: string) => void,
  pauses: RestartPauses = RESTART_PAUSES,
): SupervisedPart<Handle> {
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
      log(`${how}; starting it again in ${pauseMs} ms`)
      await pause(pauseMs, stopping.signal)
      if (stopping.signal.aborted) return
      pauseMs = Math.min(pauseMs * 2, pauses.longestMs)
      part = start()
      // The supervisor's caller waits for the first start only.
      part.ready.catch(() => {})
    }
  }

  return {
    ready,
    async stop() {
      stopping.abort()
      part.stop()
      await finished
    },
    kill() {
      stopping.abort()
      part.kill()
    },
  }
}

async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  // The only way for it to fail is the signal, which the caller looks at.
  await delay(durationMs, undefined, { signal }).catch(() => {})
}
