// Starts a child process of a benchmark and controls it by messages. The child exits when its
// parent exits.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export interface Child<Command, Report> {
  readonly pid: number
  /** Sends the command and waits for the report. */
  ask(command: Command): Promise<Report>
  end(): void
}

/**
 * Starts the script and waits until it reports that it is ready. The child is detached, so Ctrl-C
 * does not reach it: it exits when its channel closes, at the latest when the signal is aborted.
 */
export async function startChild<Command extends object, Report>(
  script: URL,
  signal: AbortSignal,
  ...args: readonly string[]
): Promise<Child<Command, Report>> {
  const child = fork(script, args, {
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const end = () => {
    if (child.connected) child.disconnect()
  }
  await nextMessage(child)
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  return {
    pid: child.pid ?? 0,
    async ask(command) {
      const report = nextMessage(child)
      child.send(command)
      return (await report) as Report
    },
    end,
  }
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const over = new AbortController()
  const { signal } = over
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message as unknown),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`${child.spawnargs[1]} exited with status ${code}`)
      }),
    ])
  } finally {
    over.abort()
  }
}
