// The contract of every request by which an operator changes something: what it did, or why it was
// refused, is a line of the audit trail, written in the transaction of what was done.
import type { Request } from 'express'
import type { z } from 'zod'
import { appendAdminAction } from '../../db/operators/admin-actions.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { inTransaction } from '../../db/connection/transaction.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { Answer } from '../responses/answer.ts'
import { withinStoreTimeout, type AdminEndpoint, type ApiParts } from '../endpoint.ts'
import { readJson, refuseCardNumberInBody } from '../keyed/keyed-intent.ts'
import { validateBody } from '../requests/validate-body.ts'

/** Who asks for what. */
export interface Attempt {
  readonly actor: string
  readonly action: string
  /** What it is about, as the API shows its id; null when the path or the body names nothing. */
  readonly subject: string | null
}

/** What came of it, for the trail and for the operator. */
export interface CommandResult {
  readonly answer: Answer
  readonly details: Readonly<Record<string, unknown>>
  /** In place of the attempt's, when another thing was done than the one asked for. */
  readonly action?: string
  /** In place of the attempt's, when it is known only now. */
  readonly subject?: string
}

/** What sets one command of operators apart from the others. */
export interface AdminCommand<Schema extends z.ZodType> {
  readonly action: string
  readonly subject?: (request: Request) => string | null
  readonly body: Schema
  /**
   * Does it, with statements of the transaction alone. What it throws leaves nothing behind, and a
   * ProblemError is a refusal.
   */
  readonly work: (
    parts: ApiParts,
    tx: Transaction,
    asked: AdminRequest<Schema>,
  ) => Promise<CommandResult>
  /** Runs after the commit. */
  readonly after?: (parts: ApiParts) => void
}

export interface AdminRequest<Schema extends z.ZodType> {
  readonly request: Request
  readonly body: z.output<Schema>
  readonly operator: string
}

/** An endpoint that does one thing in one transaction, with its line of the audit trail. */
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
      return answer
    })
  }
}

/** The body of a command, held to the same strictness as a tenant's; without one it is empty. */
export async function readCommandBody<Schema extends z.ZodType>(
  parts: ApiParts,
  request: Request,
  schema: Schema,
): Promise<z.output<Schema>> {
  const body = await readJson(parts, request, true)
  refuseCardNumberInBody(body, parts.settings)
  return validateBody(schema, body)
}

/** Does something together with its line of the audit trail, or not at all. */
export async function doAudited(
  { store }: ApiParts,
  attempt: Attempt,
  work: (tx: Transaction) => Promise<CommandResult>,
): Promise<Answer> {
  return await inTransaction(store.sql, async (tx) => {
    const { answer, details, action = attempt.action, subject = attempt.subject } = await work(tx)
    await appendAdminAction(tx, { actor: attempt.actor, action, subject, details })
    return answer
  })
}

/** Runs an attempt; one that is refused leaves a line that says why, and nothing of what was sent. */
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
