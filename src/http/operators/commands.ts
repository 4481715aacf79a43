// Makes the commands of operators, by which they change something. Each change is recorded in the audit trail
// in the same transaction, and each refusal is recorded with its reason.
import type { Request } from 'express'
import type { z } from 'zod'
import { appendAdminAction, type NewAdminAction } from '../../db/operators/admin-actions.ts'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import { inService } from '../../db/connection/transaction.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { showId } from '../../domain/resource-id.ts'
import type { BodyContract, Contract, Endpoints } from '../contracts/contract.ts'
import {
  findRequested,
  parseOf,
  pathOf,
  type Contracted,
  type Resource,
} from '../contracts/reads.ts'
import type { Json } from '../contracts/fields.ts'
import { withinStoreTimeout, type AdminEndpoint, type ServiceParts, admin } from '../endpoint.ts'
import { readJson, refuseForbiddenText } from '../keyed/keyed-request.ts'
import { noBody, validateBody } from '../requests/validate-body.ts'
import { showJson, type Answer } from '../responses/answer.ts'

/** What an operator tries to do. The subject is null when the path has no valid id. */
export type Attempt = Pick<NewAdminAction, 'actor' | 'action' | 'subject'>

/** The result of a command: what the attempt does not say, or says wrongly, of its entry, and the answer. */
export interface CommandResult extends Partial<Omit<NewAdminAction, 'details'>> {
  readonly details: NewAdminAction['details']
  /** JSON, sent with the first status of the contract, or what makes the answer after the commit. */
  readonly answer?: Json | (() => Promise<Answer>)
}

interface Command<Schema extends z.ZodType, Item> extends Contracted {
  readonly action: string
  /** The resource of the id in the path. */
  readonly on?: Resource<Item, Sql | Transaction>
  /** By default the command takes none. */
  readonly body?: BodyContract & { readonly schema: Schema }
  readonly answers: Contract['answers']
  /**
   * Does the work. It may use only statements of the transaction. An error rolls everything back,
   * and a ProblemError counts as a refusal.
   */
  readonly work: (work: Work<Schema, Item>) => Promise<CommandResult>
  /** Runs after the commit. */
  readonly after?: (parts: ServiceParts) => void
}

export interface Work<Schema extends z.ZodType, Item> {
  readonly parts: ServiceParts
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
): Endpoints[string] {
  const { action, on, work, after, body: taken = noBody, ...contract } = command
  const status = Number(Object.keys(contract.answers)[0])
  const serve: AdminEndpoint = async (parts, request, operator) => {
    const id = on && parseOf(on)(String(request.params['id']))
    const subject = on === undefined || id === undefined ? null : showId(on.prefix, id)
    const attempt = { actor: operator, action, subject }
    return await auditRefusal(parts, attempt, async () => {
      const body = (await readCommandBody(parts, request, taken.schema)) as z.output<Schema>
      const working = inService(parts.store.sql, async (tx) => {
        const found = (on && (await findRequested(on, tx, request))) as Item
        const { answer: made, ...entry } = await work({ parts, tx, request, body, operator, found })
        await appendAdminAction(tx, { ...attempt, ...entry })
        return made
      })
      const answer = await withinStoreTimeout(parts, working)
      after?.(parts)
      if (typeof answer === 'function') return await answer()
      if (answer === undefined) return { status, body: '' }
      return showJson(answer, status)
    })
  }
  return {
    serve: admin(serve),
    tag: 'Operators',
    ...contract,
    ...(on && pathOf(on)),
    body: taken,
  }
}

/**
 * Reads the body of a command as strictly as a tenant's. A missing body counts as an empty object.
 */
export async function readCommandBody<Schema extends z.ZodType>(
  parts: ServiceParts,
  request: Request,
  schema: Schema,
): Promise<z.output<Schema>> {
  const body = await readJson(parts, request, true)
  refuseForbiddenText(body, parts.settings)
  return validateBody(schema, body)
}

/**
 * Runs an attempt. Records a refusal with its problem type, and with nothing of the request body.
 */
export async function auditRefusal<Value>(
  parts: ServiceParts,
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
