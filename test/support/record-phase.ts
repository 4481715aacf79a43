// Records one phase for a test. The service records phases in batches.
import type { Sql } from '../../src/db/connection/client.ts'
import type { Claim } from '../../src/db/operations/leases.ts'
import {
  type PhaseRecord,
  recordEach,
  type PhaseToRecord,
} from '../../src/db/operations/record-phases.ts'
import type { StoredResponse } from '../../src/domain/operations/operation.ts'

const EMPTY_RECORD: PhaseRecord = { tries: [], writes: {} }

export function advanceIfOwner(
  sql: Sql,
  claim: Claim,
  to: string,
  leaseMs: number,
  record = EMPTY_RECORD,
): Promise<boolean> {
  return recordOne(sql, { claim, move: { kind: 'advance', to, leaseMs }, record })
}

export function finishIfOwner(
  sql: Sql,
  claim: Claim,
  response: StoredResponse,
  retentionSeconds: number,
  record = EMPTY_RECORD,
): Promise<boolean> {
  return recordOne(sql, { claim, move: { kind: 'finish', response, retentionSeconds }, record })
}

async function recordOne(sql: Sql, phase: PhaseToRecord): Promise<boolean> {
  const [isRecorded] = await recordEach(sql, [phase])
  return isRecorded ?? false
}
