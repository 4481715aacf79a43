// Which item of FROM a reference to a column means.
import {
  aliasesOf,
  aliasOf,
  as,
  leavesOf,
  namesOf,
  replace,
  some,
  type Body,
  type Node,
} from './syntax.ts'

/** What a part of a statement can read besides tables of its node. */
export interface Known {
  /** The columns of the rows of an earlier part; undefined for another name. */
  readonly rowsOf: (name: string) => readonly string[] | undefined
  /** The columns of a table. */
  readonly columnsOf: (table: string) => readonly string[]
  readonly isDistributed: (table: string) => boolean
}

/** A column of an item of FROM; without a column, the whole row. */
export interface Reference {
  readonly alias: string
  readonly column: string | undefined
}

/** Whether it uses a table whose rows are on other nodes. */
export function usesDistributed(tree: unknown, { isDistributed }: Known): boolean {
  return some(tree, (part) => isRelation(part) && isDistributed(part.relname))
}

const isRelation = (part: object): part is { relname: string } =>
  typeof (part as { relname?: unknown }).relname === 'string' && !('schemaname' in part)

/** The names of the earlier parts whose rows it reads. */
export function namesOfRows(tree: unknown, known: Known): string[] {
  const names = new Set<string>()
  some(tree, (part) => {
    if (isRelation(part) && known.rowsOf(part.relname)) names.add(part.relname)
    return false
  })
  return [...names]
}

/**
 * Tells the items of FROM that are read on this node (rows of earlier parts, functions, tables that
 * are not distributed) from the others. An item that refers to a column of these belongs to them.
 */
export function separate(items: readonly Node[], known: Known) {
  let sources = items.filter((item) => !usesDistributed(item, known))
  for (;;) {
    const tables = items.filter((item) => !sources.includes(item))
    const aliases = new Set(tables.flatMap(aliasesOf))
    const refersTo = (item: Node) =>
      some(item, (part) => {
        const [alias, name] = namesOf(as(part, 'ColumnRef') ?? {})
        return alias !== undefined && name !== undefined && aliases.has(alias)
      })
    const kept = sources.filter((item) => as(item, 'RangeVar') || !refersTo(item))
    if (kept.length === sources.length) return { sources, tables }
    sources = kept
  }
}

/** Whether it reads a table of this node, besides the rows of earlier parts. */
export function usesLocal(tree: unknown, { rowsOf, isDistributed }: Known): boolean {
  return some(
    tree,
    (part) =>
      'relname' in part &&
      !(isRelation(part) && (isDistributed(part.relname) || rowsOf(part.relname) !== undefined)),
  )
}

/** The names of the columns of an item of FROM. */
export function columnsOf(item: Node, known: Known): string[] {
  const join = as(item, 'JoinExpr')
  if (join?.larg && join.rarg)
    return [...columnsOf(join.larg, known), ...columnsOf(join.rarg, known)]
  const { relname } = as(item, 'RangeVar') ?? {}
  if (relname !== undefined) return [...(known.rowsOf(relname) ?? known.columnsOf(relname))]
  const rows = as(item, 'RangeFunction')
  const query = as(item, 'RangeSubselect')
  const renamed = (rows ?? query)?.alias?.colnames?.map((name) => as(name, 'String')?.sval ?? '')
  if (renamed) return renamed
  if (query) return namesOfTargets(as(query.subquery, 'SelectStmt')?.targetList)
  const defined = rows?.coldeflist?.map((definition) => as(definition, 'ColumnDef')?.colname ?? '')
  return defined ?? [aliasOf(item)]
}

function namesOfTargets(targets: readonly Node[] = []): string[] {
  return targets.map((node) => {
    const { name, val } = as(node, 'ResTarget') ?? {}
    return name ?? namesOf(as(val, 'ColumnRef') ?? {}).at(-1) ?? ''
  })
}

interface Level {
  readonly aliases: ReadonlySet<string>
  readonly columns: ReadonlySet<string>
}

/** Finds and replaces the references to some items of FROM, as SQL resolves names. */
export class References {
  readonly #known: Known
  readonly #sources: ReadonlyMap<string, readonly string[]>
  readonly #tables: Level

  /** @param tables the other items of the same FROM. */
  constructor(sources: readonly Node[], tables: readonly Node[], known: Known) {
    this.#known = known
    this.#sources = new Map(
      sources.flatMap(leavesOf).map((item) => [aliasOf(item), columnsOf(item, known)]),
    )
    this.#tables = this.#levelOf(tables)
  }

  /** A copy in which the references to the sources are replaced. */
  replaceIn<T>(tree: T, replacement: (reference: Reference) => Node): T {
    return this.#replace(tree, [this.#tables], replacement)
  }

  /** Whether it names columns of the sources alone, and has no sub-query. */
  isOnlyOfSources(tree: Node): boolean {
    if (some(tree, (part) => 'SubLink' in part)) return false
    const rest = this.replaceIn(tree, () => ({ ParamRef: {} }))
    return !some(rest, (part) => 'ColumnRef' in part)
  }

  #replace<T>(tree: T, levels: readonly Level[], replacement: (to: Reference) => Node): T {
    return replace(tree, (part) => {
      const query = as(part, 'SelectStmt')
      if (query) return { SelectStmt: this.#replaceInQuery(query, levels, replacement) }
      const column = as(part, 'ColumnRef')
      const reference = column && this.#find(namesOf(column), levels)
      return reference && replacement(reference)
    })
  }

  #replaceInQuery(
    query: Body<'SelectStmt'>,
    levels: readonly Level[],
    replacement: (to: Reference) => Node,
  ): Body<'SelectStmt'> {
    const { larg, rarg, ...rest } = query
    const inner = [...levels, this.#levelOf(query.fromClause ?? [])]
    return {
      ...this.#replace(rest, inner, replacement),
      ...(larg && { larg: this.#replaceInQuery(larg, levels, replacement) }),
      ...(rarg && { rarg: this.#replaceInQuery(rarg, levels, replacement) }),
    }
  }

  #levelOf(from: readonly Node[]): Level {
    return {
      aliases: new Set(from.flatMap(aliasesOf)),
      columns: new Set(from.flatMap((item) => columnsOf(item, this.#known))),
    }
  }

  #find([first = '', second]: readonly string[], levels: readonly Level[]): Reference | undefined {
    const isOfTable = levels.some(({ aliases }) => aliases.has(first))
    if (second !== undefined) {
      return isOfTable || !this.#sources.has(first) ? undefined : { alias: first, column: second }
    }
    if (first === '*' || levels.some(({ columns }) => columns.has(first))) return undefined
    for (const [alias, columns] of this.#sources) {
      if (columns.includes(first)) return { alias, column: first }
    }
    return isOfTable || !this.#sources.has(first) ? undefined : { alias: first, column: undefined }
  }
}
