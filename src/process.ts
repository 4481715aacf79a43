// The common start and shutdown of every process of this service. A failed start is reported in
// plain words. A process shuts down gracefully on a signal, or when the launcher that started it
// exits.
import { readFileSync } from 'node:fs'
import { ConfigError } from './config-formats.ts'

/**
 * Runs the start of a process. If it fails, prints the reason (without a stack for wrong settings)
 * and exits with status 1.
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
 * Calls `stop` once: on SIGTERM, on SIGINT, or when the launcher's end of the IPC channel closes,
 * which happens even if the launcher is killed. Exits afterwards, with status 1 if `stop` fails or
 * takes longer than `timeoutMs`.
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
        process.stderr.write(`graceful shutdown failed: ${describe(error)}\n`)
        process.exit(1)
      },
    )
  }
  process.once('SIGTERM', () => stopOnce('SIGTERM'))
  process.once('SIGINT', () => stopOnce('SIGINT'))
  if (process.send === undefined) return
  process.once('disconnect', () => stopOnce('the launcher has exited'))
  // It may have exited before the listener was added.
  if (!process.connected) stopOnce('the launcher has exited')
}

/** Tells the launcher, if there is one, that this process is ready. */
export function announceReady(): void {
  if (process.connected) process.send?.({ type: 'ready' })
}

/** The version of the service, from package.json. */
export function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
