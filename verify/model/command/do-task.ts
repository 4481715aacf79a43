// Does a task, and says what came of it.
import { seededRandom } from '../../simulate/random.ts'
import { REPOSITORY } from '../../faults/service-process.ts'
import { runHistory, type Seen } from '../honesty/history.ts'
import { mutants } from '../mutants/mutants.ts'
import { withMutatedProduct } from '../mutants/mutated-product.ts'
import { loadProduct } from '../programs/product.ts'
import { replayPaths } from '../replay/replay-paths.ts'
import { explore, type Explored, type Violation } from '../space/explore.ts'
import { REPLAYED, spaces } from '../space/spaces.ts'
import { named, nameOfTask, type Task, type Verdict } from './task.ts'

type Tell = (progress: string) => void

const HISTORIES_TOLD_EACH = 20

export async function doTask(task: Task, tell: Tell): Promise<Verdict> {
  switch (task.kind) {
    case 'space':
      return await exploreSpace(task, tell)
    case 'mutant':
      return await lookForMutant(task)
    case 'histories':
      return await compareHistories(task, tell)
    case 'replay':
      return await replayOn(task, tell)
  }
}

async function exploreSpace(task: Extract<Task, { kind: 'space' }>, tell: Tell): Promise<Verdict> {
  const product = await loadProduct(REPOSITORY)
  const found = await explore(product, named(spaces, task.name), {
    goesOn: () => true,
    tell: (known, done) =>
      tell(`${done.toLocaleString('en')} of ${known.toLocaleString('en')} states`),
  })
  return {
    ...counts(found),
    task: nameOfTask(task),
    passed: found.violations.length === 0,
    said: describe(found),
    details: found.violations.flatMap(render),
  }
}

function describe(found: Explored): string {
  const { states, moves, depth, stores, providers, moments, beside, seconds } = found
  const [shownStates, shownMoves] = [states, moves].map((count) => count.toLocaleString('en'))
  return (
    `${shownStates} states, ${shownMoves} moves, ${depth} deep; ` +
    `${stores} stores, ${providers} providers, ${moments} moments of programs, ${beside} statements beside other keys; ${seconds.toFixed(1)} s`
  )
}

const counts = ({ states, moves }: Explored) => ({ states, moves })

function render({ what, path }: Violation): string[] {
  return [what, ...path.map((label) => `    ${label}`)]
}

async function lookForMutant(task: Extract<Task, { kind: 'mutant' }>): Promise<Verdict> {
  const mutant = named(mutants, task.name)
  const sound = await loadProduct(REPOSITORY)
  const control = await explore(sound, mutant.space)
  const isIt = (what: string) => what.startsWith(mutant.foundBy)
  const goesOn = (what: string) => !isIt(what)
  const found = await withMutatedProduct(mutant, (product) =>
    explore(product, mutant.space, { goesOn }),
  )
  const caught = found.violations.find(({ what }) => isIt(what))
  const passed = caught !== undefined && control.violations.length === 0
  const others = found.violations.map(({ what }) => what).join('; ')
  return {
    task: nameOfTask(task),
    passed,
    said: passed ? `found: ${caught.what}` : `NOT found; instead: ${others || 'nothing'}`,
    details: control.violations.flatMap(render),
    // What is counted is the product.
    ...counts(control),
  }
}

async function compareHistories(
  task: Extract<Task, { kind: 'histories' }>,
  tell: Tell,
): Promise<Verdict> {
  const { schema } = await loadProduct(REPOSITORY)
  const seen: Seen = { statements: 0, waits: 0, deadlocks: 0, errors: 0 }
  const told = { task: nameOfTask(task), states: 0, moves: 0 }
  for (let count = 0; count < task.count; count += 1) {
    if (count % HISTORIES_TOLD_EACH === 0) tell(`${count} of ${task.count} histories`)
    try {
      await runHistory(schema, task.url, seededRandom(task.seed + count), seen)
    } catch (error) {
      const details = String(error).split('\n')
      return { ...told, passed: false, said: `differ, seed ${task.seed + count}`, details }
    }
  }
  const { statements, waits, deadlocks, errors } = seen
  const said = `${task.count} from seed ${task.seed}: ${statements} statements, ${waits} waits, ${deadlocks} deadlocks, ${errors} errors`
  return { ...told, passed: true, said, details: [] }
}

async function replayOn(task: Extract<Task, { kind: 'replay' }>, tell: Tell): Promise<Verdict> {
  const product = await loadProduct(REPOSITORY)
  const told = { task: nameOfTask(task), states: 0, moves: 0 }
  try {
    const { paths, moves, steps, covered } = await replayPaths(
      product,
      REPLAYED,
      task,
      (done, all) => tell(`${done} of ${all} steps of the store`),
    )
    const said = `${paths} paths, ${moves} moves: ${covered} of the ${steps} steps that the store takes`
    // Fewer paths than it takes are an example only.
    const passed = covered === steps || paths === task.paths
    return { ...told, passed, said, details: [] }
  } catch (error) {
    return { ...told, passed: false, said: 'differ', details: String(error).split('\n') }
  }
}
