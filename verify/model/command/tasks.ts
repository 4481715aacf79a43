// A task is one part of a run that a child process can do. Spaces and mutants are passed by name, because
// they cannot be sent between processes. A process takes the next task when it is free.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../../bench/options.ts'
import type { Progress } from '../../../bench/progress.ts'

export type Task =
  | { readonly kind: 'space'; readonly name: string }
  | { readonly kind: 'mutant'; readonly name: string }
  | {
      readonly kind: 'histories'
      readonly url: string
      readonly seed: number
      readonly count: number
    }

/** The result of a task, as text for the report. */
export interface Verdict {
  readonly task: string
  readonly passed: boolean
  /** One line: what was checked, and the result. */
  readonly summary: string
  /** The reasons for a failure, line by line. */
  readonly details: readonly string[]
  readonly states: number
  readonly transitions: number
}

/** Message from the child process to its parent. */
export type TaskMessage =
  | { readonly progress: string }
  | { readonly verdict: Verdict }
  | { readonly failure: string }

export function nameOfTask(task: Task): string {
  return task.kind === 'histories' ? 'histories on PostgreSQL' : `${task.kind} ${task.name}`
}

export function findByName<Named extends { readonly name: string }>(
  all: readonly Named[],
  name: string,
): Named {
  const found = all.find((one) => one.name === name)
  if (found === undefined) throw new UsageError(`unknown name ${name}`)
  return found
}

const MAIN = fileURLToPath(new URL('task-main.ts', import.meta.url))

/** For each process: the tables of a space with tens of millions of states fit into this heap. */
const HEAP_OPTIONS = ['--max-old-space-size=4096']

/** Minimum interval between two progress lines of a task. */
const REPORT_INTERVAL_MS = 15_000

interface TaskRunOptions {
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

/** The last line is `N passed, N failed`, which other programs parse. */
export function renderReport(verdicts: readonly Verdict[], seconds: number): string {
  const verdictLines = verdicts.map(({ passed, task, summary, details }) => {
    const line = `${passed ? 'passed' : 'FAILED'}  ${task}: ${summary}\n`
    return passed ? line : line + details.map((detail) => `    ${detail}\n`).join('')
  })
  const total = (count: (verdict: Verdict) => number) =>
    verdicts.reduce((sum, verdict) => sum + count(verdict), 0).toLocaleString('en')
  const passed = verdicts.filter((verdict) => verdict.passed).length
  return `${verdictLines.join('')}
${total(({ states }) => states)} states, ${total(({ transitions }) => transitions)} transitions checked in ${seconds.toFixed(0)} s

${passed} passed, ${verdicts.length - passed} failed
`
}
