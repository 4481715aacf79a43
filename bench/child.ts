// Starts a child process of a benchmark and controls it by messages. The child exits when its
// parent exits.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export interface Child<Command, Report> {
  readonly pid: number
  tell(command: Command): void
  /** Sends the command and waits for the report. */
  ask(command: Command): Promise<Report>
  end(): void
}

/**
 * Starts the script and waits until it reports that it is ready. The child is detached, so Ctrl-C
 * does not reach it: it exits when its channel closes.
 */
export async function startChild<Command extends object | string, Report>(
  script: string,
  ...args: readonly string[]
): Promise<Child<Command, Report>> {
  const child = fork(script, args, {
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await nextMessage(child)
  const tell = (command: Command) => void child.send(command)
  return {
    pid: child.pid ?? 0,
    tell,
    async ask(command) {
      const report = nextMessage(child)
      tell(command)
      return (await report) as Report
    },
    end() {
      if (child.connected) child.disconnect()
    },
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
