// Runs a Node process as a part of the stack. Over its IPC channel the process reports that it is
// ready, and learns that its launcher has ended, even after SIGKILL.
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { StartError } from '../start-error.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface NodeProcessOptions {
  /** Absolute, or relative to the root of the repository. */
  readonly script: string
  /** Environment variables that override those of this process. */
  readonly settings: Record<string, string>
  /** How long `stop` waits for a graceful shutdown before it kills the process. */
  readonly stopLimitMs: number
  readonly log: (line: string) => void
}

export type NodeProcess = ReturnType<typeof startNodeProcess>

/**
 * Starts a script with the Node binary of this process. The script gets its own process group, so
 * that Ctrl-C does not reach it.
 */
export function startNodeProcess(options: NodeProcessOptions) {
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
    /** 0 when the process could not be started. */
    pid: child.pid ?? 0,
    ended,
    ready: Promise.race([
      waitForReady(child),
      ended.then((how) => {
        throw new StartError(`${options.script} ${how} before it was ready. Its output is above.`)
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
