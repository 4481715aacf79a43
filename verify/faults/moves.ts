// Records every move, a change of an operation's row, and every change of a posting. Triggers write
// them to tables of the suite, so the checks of recovery points, lease epochs and ledger rows do
// not depend on what the service says.
import type { Store } from '../../src/db/connection/client.ts'
import type { Violation } from './results.ts'

export interface Move {
  readonly operation: string
  readonly status: string
  readonly recoveryPoint: string
  readonly leaseEpoch: number
}

/** Starts to record the moves of all operations. */
export async function watchMoves({ sql }: Store): Promise<void> {
  await sql.unsafe(`
    create table fault_suite_moves (
      seq bigint generated always as identity, tenant_id uuid, id uuid, operation text,
      status text, recovery_point text, lease_epoch integer
    );
    create index on fault_suite_moves (id, recovery_point, seq);
    create function fault_suite_keep_move() returns trigger language plpgsql security definer as $$
    begin
      -- The cancellation of a key is no move of its operation.
      if tg_op = 'UPDATE' and new.status = old.status
        and new.cancellation is distinct from old.cancellation then return null;
      end if;
      insert into fault_suite_moves (tenant_id, id, operation, status, recovery_point, lease_epoch)
      values (new.tenant_id, new.id, new.operation, new.status, new.recovery_point, new.lease_epoch);
      return null;
    end $$;
    create trigger fault_suite_moves after insert or update on idempotency_keys
      for each row execute function fault_suite_keep_move();
    create table fault_suite_ledger_changes (tenant_id uuid, id uuid, what text);
    create function fault_suite_keep_ledger_change() returns trigger
    language plpgsql security definer as $$
    begin
      insert into fault_suite_ledger_changes values (old.tenant_id, old.id, lower(tg_op));
      return null;
    end $$;
    create trigger fault_suite_ledger_changes after update or delete on ledger_postings
      for each row execute function fault_suite_keep_ledger_change();
  `)
}

/** Reads the changes of ledger rows, which are immutable. */
export async function readLedgerChanges({ sql }: Store, tenantId: string): Promise<Violation[]> {
  const rows = await sql<{ id: string; what: string }[]>`
    select id, what from fault_suite_ledger_changes where tenant_id = ${tenantId}
  `
  return rows.map(({ id, what }) => ({ invariant: 4, what: `${what} of the posting ${id}` }))
}

/** Reads the moves of a tenant's operations, each operation's in order. */
export async function readMoves({ sql }: Store, tenantId: string): Promise<Move[][]> {
  const rows = await sql<(Move & { id: string })[]>`
    select id, operation, status, recovery_point as "recoveryPoint", lease_epoch as "leaseEpoch"
    from fault_suite_moves where tenant_id = ${tenantId} order by seq
  `
  return [...Map.groupBy(rows, ({ id }) => id).values()]
}
