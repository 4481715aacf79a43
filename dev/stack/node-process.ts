// One of the service's own processes as a part of the stack. Its IPC channel tells the launcher when
// it works, and tells it when the launcher is gone, even by SIGKILL.
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { StartError } from '../start-error.ts'
import type { Part } from './supervise.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface NodeProcessOptions {
  /** Path of the script, absolute or from the root of the repository. */
  readonly script: string
  /** Settings that differ from those of this process, whose environment it gets otherwise. */
  readonly settings: Record<string, string>
  /** How long it may take to stop in order before it is killed. */
  readonly stopLimitMs: number
  readonly log: (line: string) => void
}

export interface NodeProcess extends Part {
  /** Zero when it could not be started. */
  readonly pid: number
}

/** Starts a script with this very Node, in a process group of its own: Ctrl-C does not reach it. */
export function startNodeProcess(options: NodeProcessOptions): NodeProcess {
  const child = spawn(process.execPath, [options.script], {
    cwd: ROOT,
    env: { ...process.env, ...options.settings },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  forwardLines(child, options.log)
  options.log(`started as process ${child.pid}`)
  const ended = waitForEnd(child)
  return {
    pid: child.pid ?? 0,
    ended,
    ready: Promise.race([
      waitForReady(child),
      ended.then((how) => {
        throw new StartError(
          `${options.script} ${how} before it was ready; its last words are above`,
        )
      }),
    ]),
    stop() {
      child.kill('SIGTERM')
      const killTimer = setTimeout(() => child.kill('SIGKILL'), options.stopLimitMs)
      void ended.then(() => clearTimeout(killTimer))
    },
    kill: () => void child.kill('SIGKILL'),
  }
}

async function waitForEnd(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`))
    child.once('exit', (code, signal) => {
      resolve(signal === null ? `ended with status ${code}` : `ended by ${signal}`)
    })
  })
}

async function waitForReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.on('message', (message: { type?: unknown } | null) => {
      if (message?.type === 'ready') resolve()
    })
  })
}

function forwardLines(child: ChildProcess, log: (line: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on('line', log)
  }
}
