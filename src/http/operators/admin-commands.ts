// Serves every request by which an operator changes something. Each change is recorded in the audit
// trail in the same transaction, and each refusal is recorded with its reason.
import type { Request } from 'express'
import type { z } from 'zod'
import { appendAdminAction } from '../../db/operators/admin-actions.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { inService } from '../../db/connection/transaction.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { Answer } from '../responses/answer.ts'
import { withinStoreTimeout, type AdminEndpoint, type ApiParts } from '../endpoint.ts'
import { readJson, refuseForbiddenText } from '../keyed/keyed-intent.ts'
import { validateBody } from '../requests/validate-body.ts'

/** What an operator tries to do. */
export interface Attempt {
  readonly actor: string
  readonly action: string
  /** The public id of the resource; null when the path has no valid id. */
  readonly subject: string | null
}

/** The result of a command, for the audit trail and for the operator. */
export interface CommandResult {
  /** The answer, or what makes it after the commit. */
  readonly answer: Answer | (() => Promise<Answer>)
  readonly details: Readonly<Record<string, unknown>>
  /** The id of the entry of the audit trail, when the work refers to it. */
  readonly entry?: string
  /** Replaces the action of the attempt when the command did something else. */
  readonly action?: string
  /** Replaces the subject of the attempt when it is known only after the work. */
  readonly subject?: string
}

/** Describes one command of operators. */
export interface AdminCommand<Schema extends z.ZodType> {
  readonly action: string
  readonly subject?: (request: Request) => string | null
  readonly body: Schema
  /**
   * Does the work. It may use only statements of the transaction. An error rolls everything back,
   * and a ProblemError counts as a refusal.
   */
  readonly work: (
    parts: ApiParts,
    tx: Transaction,
    request: AdminRequest<Schema>,
  ) => Promise<CommandResult>
  /** Runs after the commit. */
  readonly after?: (parts: ApiParts) => void
}

interface AdminRequest<Schema extends z.ZodType> {
  readonly request: Request
  readonly body: z.output<Schema>
  readonly operator: string
}

/**
 * Creates an endpoint that runs one command and records it in the audit trail, in one transaction.
 */
export function adminCommand<Schema extends z.ZodType>(
  command: AdminCommand<Schema>,
): AdminEndpoint {
  return async (parts, request, operator) => {
    const subject = command.subject?.(request) ?? null
    const attempt = { actor: operator, action: command.action, subject }
    return await auditRefusal(parts, attempt, async () => {
      const body = await readCommandBody(parts, request, command.body)
      const work = doAudited(parts, attempt, (tx) =>
        command.work(parts, tx, { request, body, operator }),
      )
      const answer = await withinStoreTimeout(parts, work)
      command.after?.(parts)
      return typeof answer === 'function' ? await answer() : answer
    })
  }
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
    const result = await work(tx)
    const { entry: id, details, action = attempt.action, subject = attempt.subject } = result
    const entry = { actor: attempt.actor, action, subject, details }
    await appendAdminAction(tx, id === undefined ? entry : { id, ...entry })
    return result.answer
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
