// Makes the endpoints of operators: lists, reads of one resource, and commands, by which operators change
// something. Each change is recorded in the audit trail in the same transaction, and each refusal is
// recorded with its reason.
import type { Request } from 'express'
import { z } from 'zod'
import { appendAdminAction } from '../../db/operators/admin-actions.ts'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import type { Page } from '../../db/connection/pages.ts'
import { inService } from '../../db/connection/transaction.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parseId, showId, type IdPrefix } from '../../domain/resource-id.ts'
import type { BodyContract, Contract, Endpoints } from '../contracts/contract.ts'
import { idInPath } from '../contracts/parameters.ts'
import { render, type Json } from '../contracts/render.ts'
import { jsonType, presentPage, showJson, type Answer } from '../responses/answer.ts'
import { withinStoreTimeout, type AdminEndpoint, type ApiParts } from '../endpoint.ts'
import { readJson, refuseForbiddenText } from '../keyed/keyed-intent.ts'
import { noBody } from '../requests/body-fields.ts'
import {
  parseFilteredQuery,
  type DocumentedFilter,
  type FilterValues,
  type ListQuery,
} from '../requests/list-query.ts'
import { validateBody } from '../requests/validate-body.ts'
import { admin } from '../server/route.ts'

/** What operators see of one kind of resource. */
export interface Resource<Item> {
  readonly prefix: IdPrefix
  readonly schema: z.ZodObject
  /** The description of its id in a path. */
  readonly idInPath: string
  readonly find: (sql: Sql | Transaction, id: string) => Promise<Item | undefined>
  /** By default as the schema describes it. */
  readonly present?: (item: Item, parts: ApiParts) => Json
  /** By default only the public id is read. */
  readonly parse?: (text: string) => string | undefined
}

type WithId = Partial<Pick<Resource<never>, 'prefix' | 'parse'>>
type Entries<Item> = Pick<Resource<Item>, 'schema' | 'present'> & WithId

type Endpoint = Endpoints[string]
type Contracted = Pick<Contract, 'operationId' | 'summary' | 'description' | 'problems'>

const parseOf =
  ({ prefix, parse }: WithId) =>
  (text: string): string | undefined =>
    parse === undefined ? prefix && parseId(prefix, text) : parse(text)

const pathOf = ({ prefix, idInPath: description }: Pick<Resource<never>, 'prefix' | 'idInPath'>) =>
  idInPath(prefix, description)

export function presentOne<Item>(
  { schema, present }: Pick<Resource<Item>, 'schema' | 'present'>,
  item: Item,
  parts: ApiParts,
): Json {
  return present === undefined ? render(schema, item as object) : present(item, parts)
}

/** @throws ProblemError resource-not-found, also for what is no id of such a resource. */
export async function findRequested<Item>(
  resource: Pick<Resource<Item>, 'prefix' | 'parse' | 'find'>,
  sql: Sql | Transaction,
  { params }: Request,
): Promise<Item> {
  const id = parseOf(resource)(String(params['id']))
  const item = id === undefined ? undefined : await resource.find(sql, id)
  if (item === undefined) throw new ProblemError('resource-not-found')
  return item
}

interface Read<Item> extends Contracted {
  readonly of: Resource<Item>
  /** The description of the answer, and its schema if that is not the resource's. */
  readonly answer: string
  readonly schema?: z.ZodType
  /** Reads and renders more than the resource. */
  readonly show?: (parts: ApiParts, item: Item, operator: string) => Promise<Json>
}

/** Returns the resource of the id in the path. */
export function adminGet<Item>(read: Read<Item>): Endpoint {
  const { of, answer, schema = of.schema, show, ...contract } = read
  const serve: AdminEndpoint = async (parts, request, operator) => {
    const item = await withinStoreTimeout(parts, findRequested(of, parts.store.sql, request))
    return showJson(show ? await show(parts, item, operator) : presentOne(of, item, parts))
  }
  return {
    serve: admin(serve),
    tag: 'Operators',
    ...contract,
    path: pathOf(of),
    answers: { 200: { description: answer, schema } },
  }
}

type Filters = Readonly<Record<string, DocumentedFilter<unknown>>>

interface List<Item, Owner, Known extends Filters, Found extends Page<Item>> extends Contracted {
  readonly of: Entries<Item>
  /** The resource of the id in the path, to which the entries belong. */
  readonly below?: Resource<Owner>
  readonly filters?: Known
  readonly read: (
    parts: ApiParts,
    page: ListQuery,
    filters: FilterValues<Known>,
    owner: Owner,
  ) => Promise<Found | undefined>
  readonly answer: string
  readonly schema: z.ZodType
  /** Adds to the page, or shows it as a part of its owner. */
  readonly show?: (page: Json, found: Found, owner: Owner) => Json
}

/** Returns a page of a list, newest first. */
export function adminList<
  Item,
  Owner = undefined,
  Known extends Filters = Filters,
  Found extends Page<Item> = Page<Item>,
>(list: List<Item, Owner, Known, Found>): Endpoint {
  const { of, below, filters: known = {} as Known, read, answer, schema, show, ...contract } = list
  const serve: AdminEndpoint = async (parts, request) => {
    const { page, filters } = parseFilteredQuery(request.query, parseOf(of), known)
    const owner =
      below && (await withinStoreTimeout(parts, findRequested(below, parts.store.sql, request)))
    const found = await withinStoreTimeout(parts, read(parts, page, filters, owner as Owner))
    const shown = presentPage(found, (item) => presentOne(of, item, parts))
    return showJson(show ? show(shown, found as Found, owner as Owner) : shown)
  }
  const fields = Object.entries(known).map(([name, { field }]) => [name, field] as const)
  return {
    serve: admin(serve),
    tag: 'Operators',
    ...contract,
    ...(below && { path: pathOf(below) }),
    isList: true,
    ...(fields.length > 0 && { query: z.object(Object.fromEntries(fields)) }),
    answers: { 200: { description: answer, schema } },
  }
}

/** What an operator tries to do. */
export interface Attempt {
  readonly actor: string
  readonly action: string
  /** The public id of the resource; null when the path has no valid id. */
  readonly subject: string | null
}

/** The result of a command, for the audit trail and for the operator. */
export interface CommandResult {
  /** The answer: JSON with the first status of the contract, or what makes it after the commit. */
  readonly answer?: Json | (() => Promise<Answer>)
  readonly details: Readonly<Record<string, unknown>>
  /** The id of the entry of the audit trail, when the work refers to it. */
  readonly entry?: string
  /** Replaces the action of the attempt when the command did something else. */
  readonly action?: string
  /** Replaces the subject of the attempt when it is known only after the work. */
  readonly subject?: string
}

interface Command<Schema extends z.ZodType, Item> extends Contracted {
  readonly action: string
  /** The resource of the id in the path. */
  readonly on?: Resource<Item>
  /** By default the command takes none. */
  readonly body?: BodyContract & { readonly schema: Schema }
  readonly answers: Contract['answers']
  /**
   * Does the work. It may use only statements of the transaction. An error rolls everything back,
   * and a ProblemError counts as a refusal.
   */
  readonly work: (work: Work<Schema, Item>) => Promise<CommandResult>
  /** Runs after the commit. */
  readonly after?: (parts: ApiParts) => void
}

export interface Work<Schema extends z.ZodType, Item> {
  readonly parts: ApiParts
  readonly tx: Transaction
  readonly request: Request
  readonly body: z.output<Schema>
  readonly operator: string
  /** What the id in the path is of. */
  readonly found: Item
}

/** Runs one command and records it in the audit trail, in one transaction. */
export function adminCommand<Schema extends z.ZodType = typeof noBody.schema, Item = undefined>(
  command: Command<Schema, Item>,
): Endpoint {
  const { action, on, work, after, body: taken = noBody, ...contract } = command
  const status = Number(Object.keys(contract.answers)[0])
  const serve: AdminEndpoint = async (parts, request, operator) => {
    const id = on && parseOf(on)(String(request.params['id']))
    const subject = on === undefined || id === undefined ? null : showId(on.prefix, id)
    const attempt = { actor: operator, action, subject }
    return await auditRefusal(parts, attempt, async () => {
      const body = (await readCommandBody(parts, request, taken.schema)) as z.output<Schema>
      const working = doAudited(parts, attempt, async (tx) => {
        const found = (on && (await findRequested(on, tx, request))) as Item
        return await work({ parts, tx, request, body, operator, found })
      })
      const answer = await withinStoreTimeout(parts, working)
      after?.(parts)
      if (typeof answer === 'function') return await answer()
      if (answer === undefined) return { status, body: '' }
      return { status, headers: jsonType, body: JSON.stringify(answer) }
    })
  }
  const path = on && { path: pathOf(on) }
  return { serve: admin(serve), tag: 'Operators', ...contract, ...path, body: taken }
}

/**
 * Reads the body of a command as strictly as a tenant's. A missing body counts as an empty object.
 */
export async function readCommandBody<Schema extends z.ZodType>(
  parts: ApiParts,
  request: Request,
  schema: Schema,
): Promise<z.output<Schema>> {
  const body = await readJson(parts, request, true)
  refuseForbiddenText(body, parts.settings)
  return validateBody(schema, body)
}

/** Does the work and records it in the audit trail, in one transaction. */
async function doAudited(
  { store }: ApiParts,
  attempt: Attempt,
  work: (tx: Transaction) => Promise<CommandResult>,
): Promise<CommandResult['answer']> {
  return await inService(store.sql, async (tx) => {
    const { answer, entry: id, details, ...replaced } = await work(tx)
    const { action = attempt.action, subject = attempt.subject } = replaced
    const entry = { actor: attempt.actor, action, subject, details }
    await appendAdminAction(tx, id === undefined ? entry : { id, ...entry })
    return answer
  })
}

/**
 * Runs an attempt. Records a refusal with its problem type, and with nothing of the request body.
 */
export async function auditRefusal<Value>(
  parts: ApiParts,
  attempt: Attempt,
  run: () => Promise<Value>,
): Promise<Value> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ProblemError) {
      const refusal = { ...attempt, details: { refused: error.type } }
      await withinStoreTimeout(parts, appendAdminAction(parts.store.sql, refusal))
    }
    throw error
  }
}
