// Makes the endpoints that read: lists, and single resources, of a tenant or of all tenants for operators.
import type { Request } from 'express'
import { z } from 'zod'
import type { Sql } from '../../db/connection/client.ts'
import type { Page } from '../../db/connection/pages.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parseId, type IdPrefix } from '../../domain/resource-id.ts'
import type { Scope } from '../../domain/tenants/api-key.ts'
import { withinStoreTimeout, type ServiceParts, admin, tenant, type Endpoint } from '../endpoint.ts'
import {
  parseFilteredQuery,
  type DocumentedFilter,
  type FilterValues,
  type ListQuery,
} from '../requests/list-query.ts'
import { showJson, type Answer } from '../responses/answer.ts'
import type { Contract, Endpoints } from './contract.ts'
import { exampleId, listOf, render, type Json } from './fields.ts'

/** One kind of resource, as its readers see it. Commands find it in their transaction, too. */
export interface Resource<Item, In = Sql> {
  readonly prefix: IdPrefix
  readonly schema: z.ZodType
  /** The description of its id in a path. */
  readonly idInPath: string
  /** @param tenantId that of a tenant's request. */
  readonly find: (sql: In, id: string, tenantId: string) => Promise<Item | undefined>
  /** By default as the schema describes it. */
  readonly present?: (item: Item, parts: ServiceParts) => Json
  /** By default only the public id is read. */
  readonly parse?: (text: string) => string | undefined
}

type WithId = Partial<Pick<Resource<never>, 'prefix' | 'parse'>>
type Entries<Item> = Pick<Resource<Item>, 'schema' | 'present'> & WithId

export type Contracted = Pick<Contract, 'operationId' | 'summary' | 'description' | 'problems'>

export const parseOf =
  ({ prefix, parse }: WithId) =>
  (text: string): string | undefined =>
    parse === undefined ? prefix && parseId(prefix, text) : parse(text)

export const pathOf = ({
  prefix,
  idInPath: description,
}: Pick<Resource<never>, 'prefix' | 'idInPath'>): { path: z.ZodObject } => ({
  // It has no pattern: a malformed id is answered like an unknown one, with 404.
  path: z.object({ id: z.string().meta({ description, examples: [exampleId(prefix)] }) }),
})

export function presentOne<Item>(
  { schema, present }: Pick<Entries<Item>, 'schema' | 'present'>,
  item: Item,
  parts: ServiceParts,
): Json {
  if (present !== undefined) return present(item, parts)
  return render(schema as z.ZodObject, item as object)
}

/** @throws ProblemError resource-not-found for what is no id of such a resource. */
export function requestedId(
  resource: Pick<Resource<never>, 'prefix' | 'parse'>,
  { params }: Request,
): string {
  return parseOf(resource)(String(params['id'])) ?? notFound()
}

/** The same for what is no id, an unknown id and the id of another tenant's resource. */
export function notFound(): never {
  throw new ProblemError('resource-not-found')
}

/** @throws ProblemError resource-not-found. */
export async function findRequested<Item, In>(
  resource: Pick<Resource<Item, In>, 'prefix' | 'parse' | 'find'>,
  sql: In,
  request: Request,
  tenantId = '',
): Promise<Item> {
  const id = requestedId(resource, request)
  return (await resource.find(sql, id, tenantId)) ?? notFound()
}

/** Who reads: the tenant of an API key with the scope, or an operator. */
type ReadBy =
  | (Pick<Contract, 'tag'> & { readonly scope: Scope })
  | { readonly tag?: undefined; readonly scope?: undefined }

function serveTo(
  scope: Scope | undefined,
  endpoint: (parts: ServiceParts, request: Request, reader: string) => Promise<Answer>,
): Endpoint {
  return scope === undefined ? admin(endpoint) : tenant(endpoint, scope)
}

type Read<Item> = Contracted &
  ReadBy & {
    readonly of: Resource<Item>
    /** The description of the answer, and its schema if that is not the resource's. */
    readonly answer: string
    readonly schema?: z.ZodType
    /** Reads and renders more than the resource. */
    readonly show?: (parts: ServiceParts, item: Item, reader: string) => Promise<Json>
  }

/** Returns the resource of the id in the path. */
export function readOne<Item>({
  of,
  answer,
  schema = of.schema,
  show,
  tag = 'Operators',
  scope,
  ...contract
}: Read<Item>): Endpoints[string] {
  return {
    serve: serveTo(scope, async (parts, request, reader) => {
      const finding = findRequested(of, parts.store.sql, request, reader)
      const item = await withinStoreTimeout(parts, finding)
      return showJson(show ? await show(parts, item, reader) : presentOne(of, item, parts))
    }),
    tag,
    ...contract,
    ...pathOf(of),
    answers: { 200: { description: answer, schema } },
  }
}

type Filters = Readonly<Record<string, DocumentedFilter<unknown>>>

type List<Item, Owner, Known extends Filters, Found extends Page<Item>> = Contracted &
  ReadBy & {
    readonly of: Entries<Item>
    /** The resource of the id in the path, to which the entries belong. */
    readonly below?: Resource<Owner>
    readonly filters?: Known
    readonly read: (
      parts: ServiceParts,
      page: ListQuery,
      filters: FilterValues<Known>,
      /** The tenant that reads, and the resource to which the entries belong. */
      by: { readonly reader: string; readonly owner: Owner },
    ) => Promise<Found | undefined>
    readonly answer: string
    /** By default that of a page of the entries. */
    readonly schema?: z.ZodType
    /** Adds to the page, or shows it as a part of its owner. */
    readonly show?: (page: Json, found: Found, owner: Owner) => Json
  }

/** The same for an unknown id and for an id of another tenant or another list. */
function cursorUnknown(): ProblemError {
  const detail = 'starting_after or ending_before is not the id of an entry of this list.'
  return new ProblemError('invalid-query', { detail })
}

/** Returns a page of a list, newest first. */
export function readList<
  Item,
  Owner = undefined,
  Known extends Filters = Filters,
  Found extends Page<Item> = Page<Item>,
>(list: List<Item, Owner, Known, Found>): Endpoints[string] {
  const { of, below, filters: known = {} as Known, read, answer, show, ...others } = list
  const { schema, tag = 'Operators', scope, ...contract } = others
  const listed = schema ?? listOf(`${of.schema.meta()?.id ?? ''}List`, of.schema)
  const fields = Object.entries(known).map(([name, { field }]) => [name, field] as const)
  return {
    serve: serveTo(scope, async (parts, request, reader) => {
      const { page: wanted, filters } = parseFilteredQuery(request.query, parseOf(of), known)
      const finding = below && findRequested(below, parts.store.sql, request, reader)
      const owner = (finding && (await withinStoreTimeout(parts, finding))) as Owner
      const found = await withinStoreTimeout(parts, read(parts, wanted, filters, { reader, owner }))
      if (found === undefined) throw cursorUnknown()
      const data = found.items.map((item) => presentOne(of, item, parts))
      const page = { object: 'list', data, has_more: found.hasMore }
      return showJson(show ? show(page, found, owner) : page)
    }),
    tag,
    ...contract,
    ...(below && pathOf(below)),
    isList: true,
    ...(fields.length > 0 && { query: z.object(Object.fromEntries(fields)) }),
    answers: { 200: { description: answer, schema: listed } },
  }
}
