// Represents a program as an automaton. An async function cannot be copied, so a node of the
// automaton is identified by the list of answers that the program received. To continue from a
// node, the program is run again with these answers. Each step is run once and cached.
import { Interner } from '../space/state.ts'
import type { Answer, CallRequest, Request } from './requests.ts'
import { type Environment, type MemberResult, Run } from './run.ts'

/** The position of a program after a given list of answers. */
export interface Node {
  readonly id: number
  readonly program: number
  /** Number of answers received. */
  readonly depth: number
  /** Undefined when the program has ended. */
  readonly pending: Request | undefined
  /** The provider calls that it waits for, at the same time. */
  readonly calls: readonly CallRequest[]
  /** The results of the members that have ended, in this order. */
  readonly results: readonly MemberResult[]
  /** The error that ended the program. */
  readonly error: string | undefined
  /** Unexpected errors that the program reported. */
  readonly unexpectedErrors: readonly string[]
}

interface NodeEntry {
  readonly node: Node
  readonly answers: readonly Answer[]
  readonly next: Map<string, NodeEntry>
  /** The live run at this node, until a step continues it. */
  run: Run | undefined
}

export type Program = (environment: Environment) => Promise<unknown>

export class Automaton {
  readonly #nodes: NodeEntry[] = []
  readonly #programs: Program[] = []
  readonly #names = new Interner<string>()

  /** @param name equal names stand for the same program. */
  async begin(name: string, program: Program): Promise<Node> {
    const programId = this.#names.idOf(name)
    this.#programs[programId] ??= program
    const entry = this.#nodes.find(
      ({ node, answers }) => node.program === programId && answers.length === 0,
    )
    return entry?.node ?? (await this.#add(programId, [], new Run(program))).node
  }

  nodeOf(id: number): Node {
    return this.#entry(id).node
  }

  nameOf({ program }: Node): string {
    return this.#names.valueOf(program)
  }

  get size(): number {
    return this.#nodes.length
  }

  /** The node after one more answer. */
  next({ id }: Node, answer: Answer): Node | Promise<Node> {
    const entry = this.#entry(id)
    return entry.next.get(JSON.stringify(answer))?.node ?? this.#advance(entry, answer)
  }

  async #advance(from: NodeEntry, answer: Answer): Promise<Node> {
    const run = from.run ?? (await this.#replay(from))
    from.run = undefined
    await run.answer(answer)
    const entry = await this.#add(from.node.program, [...from.answers, answer], run)
    from.next.set(JSON.stringify(answer), entry)
    return entry.node
  }

  async #replay({ node, answers }: NodeEntry): Promise<Run> {
    const run = new Run(this.#programs[node.program] as Program)
    await run.runUntilPending()
    for (const answer of answers) await run.answer(answer)
    return run
  }

  async #add(program: number, answers: readonly Answer[], run: Run): Promise<NodeEntry> {
    if (answers.length === 0) await run.runUntilPending()
    const { pending, calls, results, ending, unexpectedErrors } = run
    const node = {
      id: this.#nodes.length,
      program,
      depth: answers.length,
      pending,
      calls,
      results: [...results],
      error: ending?.error && describe(ending.error),
      unexpectedErrors: [...unexpectedErrors],
    }
    const liveRun = pending === undefined ? undefined : run
    const entry: NodeEntry = { node, answers, next: new Map(), run: liveRun }
    this.#nodes.push(entry)
    return entry
  }

  #entry(id: number): NodeEntry {
    const entry = this.#nodes[id]
    if (entry === undefined) throw new Error(`unknown node ${id}`)
    return entry
  }

  /** Abandons all live runs, so that no promise stays pending. */
  async dispose(): Promise<void> {
    for (const entry of this.#nodes) {
      entry.run?.abandon()
      entry.run = undefined
    }
    await new Promise(setImmediate)
  }
}

const describe = (error: Error): string => `${error.name}: ${error.message}`
