// Runs tasks in several child processes in parallel. A process takes the next task when it is free.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Progress } from '../../../bench/progress.ts'
import { nameOfTask, type Task, type TaskMessage, type Verdict } from './task.ts'

const MAIN = fileURLToPath(new URL('task-main.ts', import.meta.url))

/** For each process: the tables of a space with tens of millions of states fit into this heap. */
const HEAP_OPTIONS = ['--max-old-space-size=4096']

/** Minimum interval between two progress lines of a task. */
const REPORT_INTERVAL_MS = 15_000

export interface TaskRunOptions {
  readonly processes: number
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** @throws Error when a task could not be run; the signal's reason when it is aborted. */
export async function runTasks(
  tasks: readonly Task[],
  { processes, progress, signal }: TaskRunOptions,
): Promise<Verdict[]> {
  const remaining = [...tasks]
  const verdicts: Verdict[] = []
  const step = progress.begin('Tasks', tasks.length)
  const work = async () => {
    const child = fork(MAIN, { execArgv: HEAP_OPTIONS, signal })
    child.on('error', () => {})
    const exited = once(child, 'exit')
    exited.catch(() => {})
    try {
      for (let task = remaining.shift(); task !== undefined; task = remaining.shift()) {
        const verdict = await runIn(child, exited, task, progress)
        verdicts.push(verdict)
        progress.say(`${verdict.passed ? 'passed' : 'FAILED'}  ${verdict.task}: ${verdict.summary}`)
        step(verdicts.length)
      }
    } finally {
      if (child.connected) child.disconnect()
    }
  }
  await Promise.all(Array.from({ length: Math.min(processes, tasks.length) }, work))
  signal.throwIfAborted()
  return verdicts
}

async function runIn(
  child: ChildProcess,
  exited: Promise<unknown>,
  task: Task,
  progress: Progress,
): Promise<Verdict> {
  const done = Promise.withResolvers<Verdict>()
  let reportedAt = performance.now()
  const receive = (message: TaskMessage) => {
    if ('verdict' in message) done.resolve(message.verdict)
    else if ('failure' in message) done.reject(new Error(message.failure))
    else if (performance.now() - reportedAt > REPORT_INTERVAL_MS) {
      reportedAt = performance.now()
      progress.say(`        ${nameOfTask(task)}: ${message.progress}`)
    }
  }
  child.on('message', receive)
  child.send(task)
  try {
    const failed = exited.then(() => {
      throw new Error(`the process that ran ${nameOfTask(task)} has exited`)
    })
    return await Promise.race([done.promise, failed])
  } finally {
    child.off('message', receive)
  }
}
