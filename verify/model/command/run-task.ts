// Runs one task of the command and returns its verdict.
import { seededRandom } from '../../simulate/random.ts'
import { REPOSITORY } from '../../faults/service-process.ts'
import { type HistoryCounts, runHistory } from '../conformance/history.ts'
import { mutants } from '../mutants/mutants.ts'
import { withMutatedProduct } from '../mutants/mutated-product.ts'
import { loadProduct } from '../programs/product.ts'
import { type ExplorationResult, explore, type Violation } from '../space/explore.ts'
import { slices, spaces } from '../space/spaces.ts'
import { findByName, nameOfTask, type Task, type Verdict } from './tasks.ts'

type ReportProgress = (progress: string) => void

const HISTORIES_PER_REPORT = 20

export async function runTask(task: Task, reportProgress: ReportProgress): Promise<Verdict> {
  switch (task.kind) {
    case 'space':
      return await exploreSpace(task, reportProgress)
    case 'mutant':
      return await checkMutant(task)
    case 'histories':
      return await compareHistories(task, reportProgress)
  }
}

async function exploreSpace(
  task: Extract<Task, { kind: 'space' }>,
  reportProgress: ReportProgress,
): Promise<Verdict> {
  const product = await loadProduct(REPOSITORY)
  const result = await explore(product, findByName([...spaces, ...slices], task.name), {
    continueAfter: () => true,
    onProgress: (known, done) =>
      reportProgress(`${done.toLocaleString('en')} of ${known.toLocaleString('en')} states`),
  })
  return {
    ...countsOf(result),
    task: nameOfTask(task),
    passed: result.violations.length === 0,
    summary: describe(result),
    details: result.violations.flatMap(render),
  }
}

function describe(result: ExplorationResult): string {
  const {
    states,
    transitions,
    depth,
    databases,
    providers,
    programNodes,
    statementsBesideOtherKeys,
    seconds,
  } = result
  const [shownStates, shownTransitions] = [states, transitions].map((count) =>
    count.toLocaleString('en'),
  )
  return (
    `${shownStates} states, ${shownTransitions} transitions, depth ${depth}; ` +
    `${databases} stores, ${providers} provider states, ${programNodes} program nodes, ${statementsBesideOtherKeys} statements repeated next to other keys; ${seconds.toFixed(1)} s`
  )
}

const countsOf = ({ states, transitions }: ExplorationResult) => ({ states, transitions })

function render({ message, trace }: Violation): string[] {
  return [message, ...trace.map((label) => `    ${label}`)]
}

async function checkMutant(task: Extract<Task, { kind: 'mutant' }>): Promise<Verdict> {
  const mutant = findByName(mutants, task.name)
  const product = await loadProduct(REPOSITORY)
  const unmodified = await explore(product, mutant.space)
  const isExpected = (message: string) => message.startsWith(mutant.foundBy)
  const continueAfter = (message: string) => !isExpected(message)
  const result = await withMutatedProduct(mutant, (mutated) =>
    explore(mutated, mutant.space, { continueAfter }),
  )
  const caught = result.violations.find(({ message }) => isExpected(message))
  const passed = caught !== undefined && unmodified.violations.length === 0
  const others = result.violations.map(({ message }) => message).join('; ')
  return {
    task: nameOfTask(task),
    passed,
    summary: passed ? `found: ${caught.message}` : `NOT found; violations: ${others || 'none'}`,
    details: unmodified.violations.flatMap(render),
    // The totals count the unmodified product only.
    ...countsOf(unmodified),
  }
}

async function compareHistories(
  task: Extract<Task, { kind: 'histories' }>,
  reportProgress: ReportProgress,
): Promise<Verdict> {
  const { schema } = await loadProduct(REPOSITORY)
  const counts: HistoryCounts = { statements: 0, waits: 0, deadlocks: 0, errors: 0 }
  const base = { task: nameOfTask(task), states: 0, transitions: 0 }
  for (let count = 0; count < task.count; count += 1) {
    if (count % HISTORIES_PER_REPORT === 0) reportProgress(`${count} of ${task.count} histories`)
    try {
      await runHistory(schema, task.url, seededRandom(task.seed + count), counts)
    } catch (error) {
      const details = String(error).split('\n')
      return {
        ...base,
        passed: false,
        summary: `stores differ, seed ${task.seed + count}`,
        details,
      }
    }
  }
  const { statements, waits, deadlocks, errors } = counts
  const summary = `${task.count} histories from seed ${task.seed}: ${statements} statements, ${waits} waits, ${deadlocks} deadlocks, ${errors} errors`
  return { ...base, passed: true, summary, details: [] }
}
