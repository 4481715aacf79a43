// Finds the rights that the statements of src need, with the functions that send them.
import { loadModule, parseSync } from 'pgsql-parser'
import type { Example } from '../../verify/statements/example.ts'
import { recordStatements } from '../../verify/statements/record-statements.ts'

/** The functions that only commands of the owner of the database use. */
const OF_OWNER: ReadonlySet<string> = new Set([
  'countOpenPayments',
  'eraseCustomer',
  'forgetOtherSeals',
  'releaseCustomer',
  'replaceIfUnchanged',
  'setTenantDisabled',
  'storeRetention',
])

type Tree = Readonly<Record<string, unknown>>

interface Relation {
  readonly relname?: string
  readonly schemaname?: string
}

interface Change {
  readonly relation?: Relation
  readonly cols?: readonly { readonly ResTarget: { readonly name: string } }[]
  readonly targetList?: readonly { readonly ResTarget: { readonly name: string } }[]
  readonly onConflictClause?: Change & { readonly action: string }
}

/**
 * The rights that the service needs, as `insert payments.amount_minor` or `execute next_id`, each with
 * the names of the functions.
 *
 * @param tables our tables: other names in a statement are those of its parts.
 * @param functions our functions.
 */
export async function findNeededRights(
  examples: readonly Example[],
  tables: ReadonlySet<string>,
  functions: ReadonlySet<string>,
): Promise<Map<string, Set<string>>> {
  await loadModule()
  const needed = new Map<string, Set<string>>()
  for (const { name, send, answers } of examples) {
    if (OF_OWNER.has(name)) continue
    for (const sent of await recordStatements(send, answers)) {
      for (const right of rightsOf(sent)) {
        const [, table = ''] = /^\S+ ([^.]+)/.exec(right) ?? []
        if (!tables.has(table) && !functions.has(table)) continue
        needed.set(right, (needed.get(right) ?? new Set()).add(name))
      }
    }
  }
  return needed
}

const MANY_STATEMENTS = /^\s*(?:begin|commit|do|grant|revoke)\b/i

function rightsOf(statement: string): string[] {
  if (MANY_STATEMENTS.test(statement)) return []
  return rightsIn(parseSync(statement))
}

function rightsIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap((part) => rightsIn(part))
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([kind, value]) => [
    ...rightsOfNode(kind, value as Tree),
    ...rightsIn(value),
  ])
}

function rightsOfNode(kind: string, node: Tree): string[] {
  switch (kind) {
    case 'RangeVar':
      return [`select ${String(node['relname'])}`]
    case 'InsertStmt':
      return rightsOfInsert(node)
    case 'UpdateStmt':
      return [...updated(node, node), ...read(node)]
    case 'DeleteStmt':
      return [`delete ${(node as Change).relation?.relname}`, ...read(node)]
    case 'FuncCall':
      return [`execute ${lastName(node)}`]
    case 'SelectStmt':
      return lockedBy(node)
    default:
      return []
  }
}

function rightsOfInsert(insert: Change): string[] {
  const { relation, cols = [], onConflictClause: conflict } = insert
  const names = cols.length === 0 ? ['*'] : cols.map(({ ResTarget }) => ResTarget.name)
  const inserted = names.map((name) => `insert ${relation?.relname}.${name}`)
  const isUpdate = conflict?.action === 'ONCONFLICT_UPDATE'
  return [...inserted, ...(isUpdate ? updated(insert, conflict) : []), ...read(insert)]
}

/** For `returning`, and for conditions and values of the row. */
const read = ({ relation }: Change): string[] => [`select ${relation?.relname}`]

const updated = ({ relation }: Change, { targetList = [] }: Change): string[] =>
  targetList.map(({ ResTarget }) => `update ${relation?.relname}.${ResTarget.name}`)

function lastName({ funcname }: Tree): string {
  const names = funcname as readonly { readonly String: { readonly sval: string } }[]
  return names.at(-1)?.String.sval ?? ''
}

/** A lock of rows needs the right to change them. */
function lockedBy({ lockingClause, fromClause }: Tree): string[] {
  const clauses = (lockingClause ?? []) as readonly { readonly LockingClause: Tree }[]
  return clauses.flatMap(({ LockingClause: { lockedRels } }) => {
    const names = relationsIn(lockedRels).map(({ relname }) => relname)
    return relationsIn(fromClause)
      .filter(({ relname, alias }) => names.length === 0 || names.includes(alias ?? relname))
      .map(({ relname }) => `lock ${relname}`)
  })
}

function relationsIn(node: unknown): { readonly relname: string; readonly alias?: string }[] {
  if (Array.isArray(node)) return node.flatMap(relationsIn)
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([kind, value]: [string, unknown]) => {
    if (kind !== 'RangeVar') return relationsIn(value)
    const { relname = '', alias } = value as Relation & { alias?: { aliasname: string } }
    return [{ relname, ...(alias && { alias: alias.aliasname }) }]
  })
}
