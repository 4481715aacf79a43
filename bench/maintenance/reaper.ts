// The reaper's process as the benchmark sees it: set going and paused by a word.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ReaperCommand, ReaperReport } from './reaper-main.ts'

const SCRIPT = fileURLToPath(new URL('reaper-main.ts', import.meta.url))

export interface Reaper {
  go(): void
  /** Lets it end its round, and tells what it has done since it was set going. */
  pause(): Promise<ReaperReport>
  end(): void
}

/** Starts it, paused. Ctrl-C does not reach it: it ends when its channel closes. */
export async function startReaper(databaseUrl: string): Promise<Reaper> {
  const child = fork(SCRIPT, [databaseUrl], {
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await nextMessage(child)
  const tell = (command: ReaperCommand) => void child.send(command)
  return {
    go: () => tell('go'),
    async pause() {
      const report = nextMessage(child)
      tell('pause')
      return (await report) as ReaperReport
    },
    end() {
      if (child.connected) child.disconnect()
    },
  }
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  return await Promise.race([
    once(child, 'message').then(([message]) => message as unknown),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the reaper ended with status ${code}`)
    }),
  ])
}
