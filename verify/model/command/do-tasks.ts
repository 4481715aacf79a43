// Does tasks in several processes at a time, each as soon as one is free.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Progress } from '../../../bench/progress.ts'
import { nameOfTask, type Task, type TaskMessage, type Verdict } from './task.ts'

const MAIN = fileURLToPath(new URL('task-main.ts', import.meta.url))

/** Of each process: a space of tens of millions of states has its place. */
const MEMORY = ['--max-old-space-size=4096']

/** How often what a process tells is shown. */
const SHOWN_EACH_MS = 15_000

export interface Doing {
  readonly processes: number
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** @throws Error when a task could not be done, and the reason of the signal when it is aborted. */
export async function doTasks(
  tasks: readonly Task[],
  { processes, progress, signal }: Doing,
): Promise<Verdict[]> {
  const left = [...tasks]
  const verdicts: Verdict[] = []
  const step = progress.begin('Tasks', tasks.length)
  const work = async () => {
    const child = fork(MAIN, { execArgv: MEMORY, signal })
    child.on('error', () => {})
    try {
      for (let task = left.shift(); task !== undefined; task = left.shift()) {
        const verdict = await doIn(child, task, progress)
        verdicts.push(verdict)
        progress.say(`${verdict.passed ? 'passed' : 'FAILED'}  ${verdict.task}: ${verdict.said}`)
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

async function doIn(child: ChildProcess, task: Task, progress: Progress): Promise<Verdict> {
  const ended = once(child, 'exit').then(() => {
    throw new Error(`the process that did ${nameOfTask(task)} has ended`)
  })
  ended.catch(() => {})
  const done = Promise.withResolvers<Verdict>()
  let shownAt = performance.now()
  const hear = (message: TaskMessage) => {
    if ('verdict' in message) done.resolve(message.verdict)
    else if ('failure' in message) done.reject(new Error(message.failure))
    else if (performance.now() - shownAt > SHOWN_EACH_MS) {
      shownAt = performance.now()
      progress.say(`        ${nameOfTask(task)}: ${message.progress}`)
    }
  }
  child.on('message', hear)
  child.send(task)
  try {
    return await Promise.race([done.promise, ended])
  } finally {
    child.off('message', hear)
  }
}
