// Finds the operation that the path of an admin endpoint names, and renders it for operators: its
// state, and what resuming it would do now.
import type { Request } from 'express'
import { z } from 'zod'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import {
  findOperationOverview,
  type OperationOverview,
} from '../../db/operators/lists/operation-overviews.ts'
import { isInternalKey } from '../../domain/events/provider-event.ts'
import { showPaymentId } from '../../domain/payments/payment.ts'
import { showRefundId } from '../../domain/payments/refund.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { parseId, showId } from '../../domain/resource-id.ts'
import { resumptionOf, type Resumption } from '../../domain/operations/resumption.ts'
import { resumeEffectOf } from '../../domain/operations/doubt-sentences.ts'
import { keyWindowSeconds } from '../../provider/capabilities.ts'
import { jsonType, type Answer } from '../responses/answer.ts'
import type { ApiParts } from '../endpoint.ts'

export const showOperationId = (id: string): string => showId('op', id)

const uuid = z.uuid()

/** Also accepts the UUID, which the metadata of the provider's objects and traces contain. */
export const parseOperationId = (text: string): string | undefined =>
  uuid.safeParse(text).data?.toLowerCase() ?? parseId('op', text)

/** Returns the id in the path, for the audit trail; null when it is not an id of an operation. */
export function namedOperation({ params }: Request): string | null {
  const id = parseOperationId(String(params['id']))
  return id === undefined ? null : showOperationId(id)
}

/** @throws ProblemError resource-not-found. */
export async function findRequestedOperation(
  sql: Sql | Transaction,
  { params }: Request,
): Promise<OperationOverview> {
  const id = parseOperationId(String(params['id']))
  const operation = id === undefined ? undefined : await findOperationOverview(sql, id)
  if (operation === undefined) throw new ProblemError('resource-not-found')
  return operation
}

/** Answers with an operation. */
export function showOperation(
  parts: ApiParts,
  operation: OperationOverview,
  status: 200 | 202,
): Answer {
  return { status, headers: jsonType, body: JSON.stringify(presentOperation(parts, operation)) }
}

export function presentOperation(
  parts: ApiParts,
  operation: OperationOverview,
): Record<string, unknown> {
  const { paymentId, refundId, finding, key } = operation
  const resumption = resumeWould(parts, operation)
  const inDoubt = isInDoubt(operation)
  const isInWindow = isInKeyWindow(parts, operation)
  return {
    id: showOperationId(operation.id),
    object: 'operation',
    tenant: showId('tnt', operation.tenantId),
    idempotency_key: isInternalKey(key) ? null : key,
    operation: operation.operation,
    status: operation.status,
    recovery_point: operation.recoveryPoint,
    resume_would: resumption,
    resume_effect: resumeEffectOf({
      resumption,
      status: operation.status,
      inDoubt,
      isInKeyWindow: isInWindow,
    }),
    attempts: operation.attempts,
    lease_epoch: operation.leaseEpoch,
    lease_expires_at: operation.leaseExpiresAt,
    in_doubt: inDoubt,
    phase_age_seconds: operation.phaseAgeMs === null ? null : operation.phaseAgeMs / 1_000,
    last_error: operation.lastError,
    unknown_at: operation.unknownAt,
    checked_at: operation.checkedAt,
    next_check_at: operation.nextCheckAt,
    evidence: operation.evidence,
    finding: finding && { id: showId('fnd', finding.id), kind: finding.kind },
    payment: paymentId && showPaymentId(paymentId),
    refund: refundId && showRefundId(refundId),
    created_at: operation.createdAt,
  }
}

/** A failed operation keeps the time of a call that is not proved to have done nothing. */
function isInDoubt({ inDoubt, status, phaseAgeMs }: OperationOverview): boolean {
  return inDoubt || (status === 'failed_retryable' && phaseAgeMs !== null)
}

/** Whether the provider still remembers the key of the call, so that a repetition is harmless. */
export function isInKeyWindow(
  parts: ApiParts,
  { phaseAgeMs, provider }: Pick<OperationOverview, 'phaseAgeMs' | 'provider'>,
): boolean {
  return phaseAgeMs !== null && phaseAgeMs < keyWindowMs(parts, provider)
}

function keyWindowMs({ capabilitiesOf, settings }: ApiParts, provider: string | null): number {
  return keyWindowSeconds(capabilitiesOf(provider ?? ''), settings) * 1_000
}

function resumeWould(parts: ApiParts, operation: OperationOverview): Resumption {
  const resumable = { ...operation, callsProvider: callsProvider(parts, operation) }
  return resumptionOf(resumable, keyWindowMs(parts, operation.provider))
}

/** Assumes a provider call for an operation or phase that this version does not know. */
function callsProvider(parts: ApiParts, operation: OperationOverview): boolean {
  const phases = phasesOf(parts, operation)
  return phases === undefined || phases[operation.recoveryPoint]?.call !== undefined
}

function phasesOf({ operations }: ApiParts, { operation }: OperationOverview) {
  return operations.find(({ name }) => name === operation)?.phases
}

/** The provider call of the current step; undefined when it makes none, or is not known here. */
export function callOf(parts: ApiParts, operation: OperationOverview): string | undefined {
  return phasesOf(parts, operation)?.[operation.recoveryPoint]?.call
}
