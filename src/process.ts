// What every process of this service does alike: report a failed start in plain words, and stop in
// order when it is told to, or when the launcher that started it is gone.
import { ConfigError } from './config.ts'

/**
 * Runs the start of a process. On failure prints why, without a stack for wrong settings, and exits
 * with status 1.
 */
export async function runProcess(name: string, start: () => Promise<void>): Promise<void> {
  try {
    await start()
  } catch (error) {
    const reason = error instanceof ConfigError ? error.message : describe(error)
    process.stderr.write(`${name}: ${reason}\n`)
    process.exit(1)
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/**
 * Calls `stop` once, on SIGTERM, on SIGINT, or when the launcher's end of the IPC channel closes,
 * which happens even when the launcher is killed. Exits afterwards; with status 1 when `stop` fails
 * or takes longer than `timeoutMs`.
 */
export function stopOnSignal(timeoutMs: number, stop: (reason: string) => Promise<void>): void {
  let stopping = false
  const stopOnce = (reason: string) => {
    if (stopping) return
    stopping = true
    setTimeout(() => process.exit(1), timeoutMs).unref()
    stop(reason).then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`could not stop in order: ${describe(error)}\n`)
        process.exit(1)
      },
    )
  }
  process.once('SIGTERM', () => stopOnce('SIGTERM'))
  process.once('SIGINT', () => stopOnce('SIGINT'))
  if (process.send === undefined) return
  process.once('disconnect', () => stopOnce('the launcher is gone'))
  // It may have gone before anyone listened.
  if (!process.connected) stopOnce('the launcher is gone')
}

/** Tells the launcher, if there is one, that this process does its work now. */
export function announceReady(): void {
  if (process.connected) process.send?.({ type: 'ready' })
}
