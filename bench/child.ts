// A process of a benchmark's own, told by messages what to do. It ends with whoever has started it.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export interface Child<Command, Report> {
  readonly pid: number
  tell(command: Command): void
  /** Tells it, and waits for what it reports. */
  ask(command: Command): Promise<Report>
  end(): void
}

/** Starts it, and waits until it says that it works. Ctrl-C does not reach it: it ends when its channel closes. */
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
        throw new Error(`${child.spawnargs[1]} ended with status ${code}`)
      }),
    ])
  } finally {
    over.abort()
  }
}
