// The syntax tree of a statement: reading it, and building small parts of it.
import type { parse } from 'pgsql-parser'

type Parsed = Awaited<ReturnType<typeof parse>>
/** A node of a tree: an object with one key, the kind of the node. */
export type Node = NonNullable<NonNullable<NonNullable<Parsed['stmts']>[number]>['stmt']>
type KeysOf<Union> = Union extends unknown ? keyof Union : never
type Kind = KeysOf<Node>
type Bodies = {
  [K in Kind]: Extract<Node, Record<K, unknown>>[K & keyof Extract<Node, Record<K, unknown>>]
}
/** What a node of the kind has. */
export type Body<K extends Kind> = Bodies[K]
/** A node, or a part of one. */
type Tree = Readonly<Record<string, unknown>>

/** The body of a node of this kind; undefined for another one. */
export function as<K extends Kind>(node: object | undefined, kind: K): Body<K> | undefined {
  const bodies: Partial<Bodies> | undefined = node
  return bodies?.[kind]
}

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null

/** Whether a tree has such a part. */
export function some(tree: unknown, test: (part: Tree) => boolean): boolean {
  if (!isTree(tree)) return false
  return test(tree) || Object.values(tree).some((part) => some(part, test))
}

/** A copy in which each part is replaced that the function returns something for. */
export function replace<T>(tree: T, replacement: (part: Tree) => unknown): T {
  if (!isTree(tree)) return tree
  const other = replacement(tree)
  if (other !== undefined) return other as T
  if (Array.isArray(tree)) return tree.map((part: unknown) => replace(part, replacement)) as T
  const parts = Object.entries(tree).map(([key, part]) => [key, replace(part, replacement)])
  return Object.fromEntries(parts) as T
}

/** The parts of a condition that have to be true together. */
export function conjuncts(condition: Node | undefined): Node[] {
  if (condition === undefined) return []
  const and = as(condition, 'BoolExpr')
  return and?.boolop === 'AND_EXPR' ? (and.args ?? []).flatMap(conjuncts) : [condition]
}

/** Undefined without conditions. */
export function allOf(...conditions: readonly (Node | undefined)[]): Node | undefined {
  const args = conditions.filter((condition) => condition !== undefined)
  return args.length < 2 ? args[0] : { BoolExpr: { boolop: 'AND_EXPR', args } }
}

export const TRUE: Node = { A_Const: { boolval: { boolval: true } } }
export const FALSE: Node = { A_Const: { boolval: { boolval: false } } }
export const ONE: Node = { ResTarget: { val: { A_Const: { ival: { ival: 1 } } } } }

const identifier = (name: string): Node => ({ String: { sval: name } })

export const column = (...names: readonly string[]): Node => ({
  ColumnRef: { fields: names.map(identifier) },
})

/** A parameter; with a type it is cast. */
export function parameter(number: number, type?: string): Node {
  const arg: Node = { ParamRef: { number } }
  if (type === undefined) return arg
  const names = [identifier(type.replace(/\[\]$/, ''))]
  const arrayBounds = type.endsWith('[]') ? { arrayBounds: [{ Integer: { ival: -1 } }] } : {}
  return { TypeCast: { arg, typeName: { names, typemod: -1, ...arrayBounds } } }
}

export const target = (name: string, val: Node): Node => ({ ResTarget: { name, val } })

export const table = (relname: string): Node => ({
  RangeVar: { relname, inh: true, relpersistence: 'p' },
})

/** A simple SELECT: without the clauses that are undefined or empty. */
export function select(clauses: Body<'SelectStmt'>): { SelectStmt: Body<'SelectStmt'> } {
  return {
    SelectStmt: { limitOption: 'LIMIT_OPTION_DEFAULT', op: 'SETOP_NONE', ...present(clauses) },
  }
}

const isPresent = (value: unknown): boolean =>
  value !== undefined && !(Array.isArray(value) && value.length === 0)

/** Without the properties that are undefined or empty lists. */
export function present<T extends object>(clauses: T): T {
  return Object.fromEntries(Object.entries(clauses).filter(([, value]) => isPresent(value))) as T
}

/** The name of the function that a node calls. */
export function calledFunction(node: object): string | undefined {
  return as(as(node, 'FuncCall')?.funcname?.at(-1), 'String')?.sval
}

/** The names of a reference to a column: `a.b` are two; a star is `*`. */
export function namesOf({ fields = [] }: Body<'ColumnRef'>): string[] {
  return fields.map((field) => as(field, 'String')?.sval ?? '*')
}

/** The items of FROM that an item joins; itself if it is no join. */
export function leavesOf(item: Node): Node[] {
  const join = as(item, 'JoinExpr')
  return join?.larg && join.rarg ? [...leavesOf(join.larg), ...leavesOf(join.rarg)] : [item]
}

/** The aliases that an item of FROM gives. */
export const aliasesOf = (item: Node): string[] => leavesOf(item).map(aliasOf)

/** The alias of an item of FROM that is no join. */
export function aliasOf(item: Node): string {
  const body = as(item, 'RangeVar') ?? as(item, 'RangeFunction') ?? as(item, 'RangeSubselect')
  const own = body?.alias?.aliasname ?? as(item, 'RangeVar')?.relname
  return own ?? calledBy(item) ?? ''
}

function calledBy(item: Node): string | undefined {
  const [first] = as(item, 'RangeFunction')?.functions ?? []
  const [call] = as(first, 'List')?.items ?? []
  return call && calledFunction(call)
}

/** The items of FROM, without its inner joins, and the conditions of these. */
export function flatten(from: readonly Node[] = []): { items: Node[]; conditions: Node[] } {
  const items: Node[] = []
  const conditions: Node[] = []
  const add = (item: Node): void => {
    const join = as(item, 'JoinExpr')
    const isInner = join?.jointype === 'JOIN_INNER' && !join.usingClause && !join.isNatural
    if (isInner && join.larg && join.rarg) {
      add(join.larg)
      add(join.rarg)
      conditions.push(...conjuncts(join.quals))
    } else items.push(item)
  }
  from.forEach(add)
  return { items, conditions }
}
