-- The schema of the database. src/db/schema says what each column means, and `drizzle-kit generate`
-- compares it with meta/0000_snapshot.json to write the next migration. What drizzle cannot say is
-- only here: functions, forced row-level security, and a table in the form of a package.
--
-- The tables of pg-boss are its own, and the rights of the service role are granted after every
-- migration: src/migrations/migrate.ts.

-- Ids are UUIDv7, and sort by time. next_id, further down, makes those of lists.
--
-- The first number of the advisory locks of next_id. Its upper bits tell them from the locks of other
-- programs. Two tenants with the same lower bits only wait for each other.
create function id_lock(tenant uuid) returns integer
language sql immutable
as $$
  select 1515454464 | ('x' || right(tenant::text, 4))::bit(16)::integer
$$;

-- The place of a UUIDv7 in the order: its milliseconds and the twelve bits after them, which are a
-- fraction of one.
create function place_of_id(id uuid) returns bigint
language sql immutable
as $$
  select (
    'x' || left(id::text, 8) || substr(id::text, 10, 4) || substr(id::text, 16, 3)
  )::bit(60)::bigint
$$;

-- The smallest id of a place in the order.
create function first_id_of_place(place bigint) returns uuid
language sql immutable
as $$
  select (
    lpad(to_hex(place >> 12), 12, '0') || '7' || lpad(to_hex(place & 4095), 3, '0')
      || repeat('0', 16)
  )::uuid
$$;

-- The smallest id of a point in time.
create function first_id_at(at timestamptz) returns uuid
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select (
    lpad(to_hex(greatest(0, floor(extract(epoch from at) * 1000))::bigint), 12, '0')
      || repeat('0', 20)
  )::uuid
$$;

-- Merchants.
create table tenants (
  id uuid primary key,
  name text not null,
  fee_basis_points integer not null default 0,
  fee_fixed_minor bigint not null default 0,
  rate_limit_writes integer,
  rate_limit_reads integer,
  max_active_keys integer,
  max_stored_keys integer,
  key_length_min integer,
  requires_reference boolean not null default false,
  providers jsonb,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  constraint tenants_fee check (fee_basis_points between 0 and 10000 and fee_fixed_minor >= 0),
  constraint tenants_providers check (
    jsonb_typeof(providers) = 'array' and jsonb_array_length(providers) > 0
  ),
  constraint tenants_limits check (
    least(
      rate_limit_writes, rate_limit_reads, max_active_keys, max_stored_keys, key_length_min
    ) >= 0
  )
);

-- Their API keys. Only the hash of a secret is stored.
create table api_keys (
  tenant_id uuid not null,
  id uuid not null,
  prefix text not null,
  secret_hash bytea not null,
  scopes text[] not null default '{*}',
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  constraint api_keys_tenant_id_id_pk primary key (tenant_id, id),
  constraint api_keys_secret_once unique (secret_hash),
  constraint api_keys_id_once unique (id),
  constraint api_keys_tenant_id_tenants_id_fk foreign key (tenant_id) references tenants,
  constraint api_keys_scopes check (cardinality(scopes) > 0)
);
create index api_keys_by_prefix on api_keys (prefix);

-- Only these two functions end a key, so that the service needs no right to UPDATE. It can neither
-- revive a key nor give it more scopes.
create function retire_api_key(key_id uuid, grace interval) returns boolean
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  update public.api_keys set expires_at = now() + greatest(grace, interval '0')
  where id = key_id and revoked_at is null and expires_at is null
  returning true
$$;

create function revoke_api_key(key_id uuid) returns boolean
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  update public.api_keys set revoked_at = now()
  where id = key_id and revoked_at is null
  returning true
$$;

revoke all on function retire_api_key(uuid, interval), revoke_api_key(uuid) from public;

-- Which tenant may charge which customer of the provider: all tenants share its account.
create table provider_customers (
  tenant_id uuid not null,
  provider text not null,
  id text not null,
  assigned_at timestamptz not null default now(),
  constraint provider_customers_tenant_id_provider_id_pk primary key (tenant_id, provider, id),
  constraint provider_customers_once unique (provider, id),
  constraint provider_customers_tenant_id_tenants_id_fk foreign key (tenant_id) references tenants
);

-- PostgreSQL parses a CHECK again in each statement that writes its table, and a function once in a
-- session: the ten CHECKs of payments took three quarters of an UPDATE. So a table that each payment
-- writes has one CHECK, which calls a function with the rules. The error names the rule that a row
-- breaks, as a CHECK does: see docs/decisions/0048-rules-in-functions.md.
create function refuse_row(rule text) returns boolean
language plpgsql
as $$
begin
  raise exception using
    errcode = 'check_violation', constraint = rule, message = format('a row breaks the rule %I', rule);
end
$$;

create function payments_rules(
  status text, previous_status text, capture_method text, amount_minor bigint,
  amount_captured_minor bigint, amount_refunded_minor bigint, amount_refunding_minor bigint,
  failure_code text, cancellation_reason text, capture_before timestamptz, expiry_step text,
  provider_payment_id text
) returns boolean
language plpgsql immutable
as $$
begin
  return case
    -- A payment begins as `processing`, and takes only the steps that the domain lists.
    when not (
      case when previous_status is null then status = 'processing'
        else previous_status || '>' || status in (
          'processing>processing', 'processing>requires_action', 'processing>requires_capture',
          'processing>succeeded', 'processing>declined', 'processing>canceled', 'processing>failed',
          'processing>unknown', 'requires_action>processing', 'requires_capture>processing',
          'unknown>processing', 'failed>processing'
        ) end
    ) then public.refuse_row('payments_step')
    when not (capture_method in ('automatic', 'manual'))
      then public.refuse_row('payments_capture_method')
    when not (amount_minor between 1 and 999999999999) then public.refuse_row('payments_amount')
    -- Never more captured than authorized, never more refunded than captured.
    when not (
      0 <= amount_refunded_minor and 0 <= amount_refunding_minor
        and amount_refunded_minor + amount_refunding_minor <= amount_captured_minor
        and amount_captured_minor <= amount_minor
    ) then public.refuse_row('payments_amounts_nest')
    -- A declined payment has a failure code. One whose hold must be released may have it; a payment
    -- that waits for its cardholder, or that ended otherwise, has none.
    when not (
      case when status = 'declined' then failure_code is not null
        when status in ('requires_action', 'succeeded', 'canceled') then failure_code is null
        else true end
    ) then public.refuse_row('payments_failure')
    when not (
      cancellation_reason is null
        or (status = 'canceled' and cancellation_reason in (
          'duplicate', 'fraudulent', 'requested_by_customer', 'abandoned', 'automatic', 'expired'
        ))
    ) then public.refuse_row('payments_cancellation_reason')
    when not (
      expiry_step is null
        or (capture_before is not null and expiry_step in ('announce', 'look', 'done'))
    ) then public.refuse_row('payments_expiry_step')
    -- A status that claims held or moved money requires the id of the provider's record.
    when not (
      status not in ('requires_action', 'requires_capture', 'succeeded')
        or provider_payment_id is not null
    ) then public.refuse_row('payments_provider_payment')
    when not (status <> 'succeeded' or amount_captured_minor > 0)
      then public.refuse_row('payments_succeeded')
    else true
  end;
end
$$;

-- What clients asked to be paid, and the result. Amounts are in minor units.
create table payments (
  tenant_id uuid not null,
  id uuid not null,
  amount_minor bigint not null,
  amount_captured_minor bigint not null default 0,
  amount_refunded_minor bigint not null default 0,
  amount_refunding_minor bigint not null default 0,
  currency text not null,
  status text not null default 'processing',
  previous_status text,
  capture_method text not null,
  payment_method text not null,
  customer text,
  description text,
  reference text,
  metadata jsonb not null,
  off_session boolean not null default false,
  return_url text,
  failure_code text,
  failure_decline_code text,
  failure_message text,
  cancellation_reason text,
  capture_before timestamptz,
  expiry_step text,
  provider text not null,
  provider_payment_id text,
  client_secret text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint payments_tenant_id_id_pk primary key (tenant_id, id),
  constraint payments_tenant_id_tenants_id_fk foreign key (tenant_id) references tenants,
  constraint payments_rules check (
    payments_rules(
      status, previous_status, capture_method, amount_minor, amount_captured_minor,
      amount_refunded_minor, amount_refunding_minor, failure_code, cancellation_reason,
      capture_before, expiry_step, provider_payment_id
    )
  )
);
create index payments_by_id on payments (id);
create unique index payments_by_provider_payment
  on payments (tenant_id, provider, provider_payment_id) where provider_payment_id is not null;
create unique index payments_by_reference on payments (tenant_id, reference)
  where reference is not null and status not in ('declined', 'canceled', 'failed');
create index payments_of_reference on payments (tenant_id, reference, id)
  where reference is not null;
create index payments_expiring on payments (capture_before)
  where expiry_step in ('announce', 'look');
create index payments_with_details on payments (tenant_id, created_at)
  where payment_method <> 'erased';

create function refunds_rules(
  status text, previous_status text, reason text, amount_minor bigint, failure_code text,
  provider_refund_id text
) returns boolean
language plpgsql immutable
as $$
begin
  return case
    when not (
      case when previous_status is null then status = 'processing'
        else previous_status || '>' || status in (
          'processing>pending', 'processing>requires_action', 'processing>succeeded',
          'processing>declined', 'processing>failed', 'processing>canceled', 'processing>unknown',
          'unknown>processing', 'pending>pending', 'pending>requires_action', 'pending>succeeded',
          'pending>failed', 'pending>canceled', 'requires_action>requires_action',
          'requires_action>pending', 'requires_action>succeeded', 'requires_action>failed',
          'requires_action>canceled', 'succeeded>failed', 'succeeded>canceled', 'failed>processing'
        ) end
    ) then public.refuse_row('refunds_step')
    when not (reason in ('duplicate', 'fraudulent', 'requested_by_customer'))
      then public.refuse_row('refunds_reason')
    when not (amount_minor between 1 and 999999999999) then public.refuse_row('refunds_amount')
    when not (
      case status when 'declined' then failure_code is not null when 'failed' then true
        else failure_code is null end
    ) then public.refuse_row('refunds_failure')
    when not (
      status not in ('pending', 'requires_action', 'succeeded', 'canceled')
        or provider_refund_id is not null
    ) then public.refuse_row('refunds_provider_refund')
    else true
  end;
end
$$;

-- Money that goes back, out of one captured payment.
create table refunds (
  tenant_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  amount_minor bigint not null,
  currency text not null,
  status text not null default 'processing',
  previous_status text,
  reason text,
  reference text,
  metadata jsonb not null,
  failure_code text,
  failure_decline_code text,
  failure_message text,
  provider_refund_id text,
  moved boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint refunds_tenant_id_id_pk primary key (tenant_id, id),
  constraint refunds_payment foreign key (tenant_id, payment_id) references payments,
  constraint refunds_rules check (
    refunds_rules(status, previous_status, reason, amount_minor, failure_code, provider_refund_id)
  )
);
create index refunds_by_payment on refunds (tenant_id, payment_id, id);
create unique index refunds_by_provider_refund on refunds (tenant_id, provider_refund_id)
  where provider_refund_id is not null;
create unique index refunds_by_reference on refunds (tenant_id, reference)
  where reference is not null and status not in ('declined', 'canceled', 'failed');
create index refunds_of_reference on refunds (tenant_id, reference, id) where reference is not null;
create index refunds_waiting on refunds (tenant_id, id)
  where status in ('pending', 'requires_action');

-- Captured payments that a cardholder contests at the bank.
create table disputes (
  tenant_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  provider_dispute_id text not null,
  amount_minor bigint not null,
  currency text not null,
  reason text not null,
  status text not null,
  evidence_due_at timestamptz,
  withdrawn_minor bigint not null default 0,
  reinstated_minor bigint not null default 0,
  fee_minor bigint not null default 0,
  fee_currency text,
  opened_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint disputes_tenant_id_id_pk primary key (tenant_id, id),
  constraint disputes_one_per_provider_dispute unique (tenant_id, provider_dispute_id),
  constraint disputes_payment foreign key (tenant_id, payment_id) references payments,
  constraint disputes_status check (
    status in (
      'warning_needs_response', 'warning_under_review', 'warning_closed', 'needs_response',
      'under_review', 'appeal_needs_response', 'appeal_under_review', 'won', 'lost', 'prevented'
    )
  ),
  constraint disputes_amounts check (
    amount_minor > 0 and withdrawn_minor >= 0 and reinstated_minor >= 0
  ),
  constraint disputes_fee check (fee_minor = 0 or fee_currency is not null)
);
create index disputes_by_payment on disputes (tenant_id, payment_id, id);
create index disputes_open on disputes (tenant_id, id)
  where status not in ('warning_closed', 'won', 'lost', 'prevented');

create function idempotency_keys_rules(
  key text, operation text, payment_id uuid, status text, recovery_point text,
  lease_expires_at timestamptz, in_doubt boolean, unknown_at timestamptz, next_check_at timestamptz,
  checked_at timestamptz, cancellation text, finished_at timestamptz, response_status smallint,
  response_headers jsonb, response_body text
) returns boolean
language plpgsql immutable
as $$
begin
  return case
    when not (status in ('pending', 'processing', 'completed', 'failed_retryable', 'unknown'))
      then public.refuse_row('idempotency_keys_status')
    when not (
      cancellation in ('in_progress', 'prevented', 'undone', 'nothing_to_undo', 'refused')
    ) then public.refuse_row('idempotency_keys_cancellation')
    when not (length(key) between 1 and 255) then public.refuse_row('idempotency_keys_key')
    -- Workers load the payment of each operation that they claim. Only local operations have none.
    when not (
      (payment_id is null) = (operation in (
        'webhook_endpoint.create', 'webhook_endpoint.update', 'webhook_endpoint.rotate_secret',
        'webhook_endpoint.replay', 'webhook_endpoint.test', 'webhook_endpoint.delete',
        'webhook_delivery.redeliver', 'idempotency_key.cancel'
      ))
    ) then public.refuse_row('idempotency_keys_payment_named')
    -- A lease has an expiry exactly while a worker processes the operation.
    when not ((status = 'processing') = (lease_expires_at is not null))
      then public.refuse_row('idempotency_keys_lease')
    -- An operation is completed, at its last recovery point, and has a response, all at once.
    when not (
      (status = 'completed') = (recovery_point = 'finished')
        and num_nonnulls(finished_at, response_status, response_headers, response_body)
          = case status when 'completed' then 4 else 0 end
    ) then public.refuse_row('idempotency_keys_finished')
    -- Only final responses are stored: no 5xx.
    when not (response_status / 100 in (2, 4)) then public.refuse_row('idempotency_keys_response')
    -- Checks are scheduled for unknown operations only, from the time at which they became unknown.
    when not (
      case status when 'unknown' then unknown_at is not null
        else next_check_at is null and checked_at is null end
    ) then public.refuse_row('idempotency_keys_unknown')
    -- An operation may be retried only when nothing was executed. If that is not proved,
    -- `phase_began_at` stays, and the retry is in doubt again.
    when not (
      case status when 'failed_retryable' then not in_doubt when 'unknown' then in_doubt else true end
    ) then public.refuse_row('idempotency_keys_doubt')
    else true
  end;
end
$$;

-- The state of every operation: key, fingerprint, progress, lease, response. The UNIQUE constraint
-- decides which request executes a key. The partial indexes hold a few rows out of ten million.
create table idempotency_keys (
  tenant_id uuid not null,
  id uuid not null,
  key text not null,
  fingerprint bytea not null,
  fingerprint_version smallint not null default 1,
  validated_fingerprint bytea,
  operation text not null,
  payment_id uuid,
  refund_id uuid,
  dispute_id uuid,
  parameters jsonb not null default '{}',
  status text not null default 'pending',
  recovery_point text not null default 'started',
  lease_epoch integer not null default 0,
  lease_expires_at timestamptz,
  attempts integer not null default 0,
  in_doubt boolean not null default false,
  phase_began_at timestamptz,
  failure_stored boolean not null default false,
  failure_certain boolean not null default false,
  key_generation smallint not null default 0,
  last_error text,
  job_id uuid,
  unknown_at timestamptz,
  next_check_at timestamptz,
  checked_at timestamptz,
  evidence jsonb,
  earlier jsonb,
  cancellation text,
  response_version smallint not null default 1,
  response_status smallint,
  response_headers jsonb,
  response_body text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  expires_at timestamptz not null,
  constraint idempotency_keys_tenant_id_id_pk primary key (tenant_id, id),
  constraint idempotency_keys_one_per_key unique (tenant_id, key),
  -- Deferred: the row of the key is written first.
  constraint idempotency_keys_payment foreign key (tenant_id, payment_id) references payments
    deferrable initially deferred,
  constraint idempotency_keys_refund foreign key (tenant_id, refund_id) references refunds
    deferrable initially deferred,
  constraint idempotency_keys_dispute foreign key (tenant_id, dispute_id) references disputes
    deferrable initially deferred,
  constraint idempotency_keys_rules check (
    idempotency_keys_rules(
      key, operation, payment_id, status, recovery_point, lease_expires_at, in_doubt, unknown_at,
      next_check_at, checked_at, cancellation, finished_at, response_status, response_headers,
      response_body
    )
  )
);
create index idempotency_keys_unfinished on idempotency_keys (created_at)
  where status in ('pending', 'processing');
create index idempotency_keys_to_check on idempotency_keys (next_check_at) where status = 'unknown';
create index idempotency_keys_unknown_payment on idempotency_keys (tenant_id, payment_id)
  where status = 'unknown';
create index idempotency_keys_expired on idempotency_keys (expires_at)
  where status in ('completed', 'failed_retryable');
create index idempotency_keys_given_up on idempotency_keys (expires_at)
  where status = 'failed_retryable';

-- How often a key was used again. A table of its own, so that a count does not rewrite the key.
create table key_replays (
  tenant_id uuid not null,
  operation_id uuid not null,
  replays bigint not null,
  conflicts bigint not null,
  mismatches bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  constraint key_replays_tenant_id_operation_id_pk primary key (tenant_id, operation_id),
  constraint key_replays_key foreign key (tenant_id, operation_id) 
    references idempotency_keys on delete cascade
);

-- What remains of a deleted idempotency key, so that a late retry never charges silently.
create table key_tombstones (
  tenant_id uuid not null,
  key_hash bytea not null,
  payment_id uuid,
  refund_id uuid,
  location text,
  expired_at timestamptz not null,
  deleted_at timestamptz not null default now(),
  constraint key_tombstones_tenant_id_key_hash_pk primary key (tenant_id, key_hash),
  constraint key_tombstones_tenant_id_tenants_id_fk foreign key (tenant_id) references tenants,
  constraint key_tombstones_hash check (length(key_hash) = 32)
);
create index key_tombstones_oldest on key_tombstones (deleted_at);

-- One row, which counts how often stored responses were dropped: copies outside the database are
-- valid for one epoch.
create table answer_epochs (
  id integer primary key,
  epoch bigint not null,
  constraint answer_epochs_one_row check (id = 1)
);

-- The timeline of every operation: one row for each try of an atomic phase. Append-only.
create table phase_runs (
  tenant_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  operation_id uuid not null,
  operation text not null,
  phase text,
  reached text,
  attempt integer not null,
  lease_epoch integer not null,
  outcome text,
  asked jsonb,
  answered jsonb,
  started_at timestamptz not null,
  ended_at timestamptz,
  recorded_at timestamptz not null default now(),
  constraint phase_runs_tenant_id_id_pk primary key (tenant_id, id),
  constraint phase_runs_payment foreign key (tenant_id, payment_id) references payments,
  constraint phase_runs_outcome check (outcome in ('done', 'declined', 'not_executed', 'unknown')),
  constraint phase_runs_call check (
    (outcome is null) = (asked is null) and (asked is null) = (answered is null)
  )
);
create index phase_runs_by_payment on phase_runs (tenant_id, payment_id, id);
create unique index phase_runs_reached_once on phase_runs (tenant_id, operation_id, reached)
  where reached is not null;
create index phase_runs_later_epochs on phase_runs (id) where lease_epoch > 1;

create function ledger_postings_rules(
  kind text, debit text, credit text, amount_minor bigint, refund_id uuid, dispute_id uuid
) returns boolean
language plpgsql immutable
as $$
begin
  return case
    when not (
      kind in ('capture', 'refund', 'refund_failure', 'dispute', 'dispute_reversal', 'provider_fee')
    ) then public.refuse_row('ledger_postings_kind')
    -- The fee of the provider can be one for a capture or for a refund.
    when not (
      kind = 'provider_fee' or (
        (kind in ('refund', 'refund_failure')) = (refund_id is not null)
        and (kind in ('dispute', 'dispute_reversal')) = (dispute_id is not null)
      )
    ) then public.refuse_row('ledger_postings_resource_named')
    when not (
      debit in (
        'provider_receivable', 'merchant_payable', 'fees', 'refunds', 'disputes', 'provider_fees'
      )
    ) then public.refuse_row('ledger_postings_debit')
    when not (
      credit in (
        'provider_receivable', 'merchant_payable', 'fees', 'refunds', 'disputes', 'provider_fees'
      )
    ) then public.refuse_row('ledger_postings_credit')
    when not (debit <> credit and amount_minor > 0) then public.refuse_row('ledger_postings_moves')
    else true
  end;
end
$$;

-- The ledger. Append-only: a correction is a new row. UNIQUE posts a movement once.
create table ledger_postings (
  tenant_id uuid not null,
  id uuid not null,
  transaction_id uuid not null,
  kind text not null,
  payment_id uuid not null,
  refund_id uuid,
  dispute_id uuid,
  operation_id uuid not null,
  debit text not null,
  credit text not null,
  amount_minor bigint not null,
  currency text not null,
  created_at timestamptz not null default now(),
  constraint ledger_postings_tenant_id_id_pk primary key (tenant_id, id),
  constraint ledger_postings_once unique (tenant_id, operation_id, kind, debit, credit),
  constraint ledger_postings_payment foreign key (tenant_id, payment_id) references payments,
  constraint ledger_postings_refund foreign key (tenant_id, refund_id) references refunds,
  constraint ledger_postings_dispute foreign key (tenant_id, dispute_id) references disputes,
  constraint ledger_postings_rules check (
    ledger_postings_rules(kind, debit, credit, amount_minor, refund_id, dispute_id)
  )
);
create index ledger_postings_by_transaction on ledger_postings (tenant_id, transaction_id);
create index ledger_postings_by_payment on ledger_postings (tenant_id, payment_id);

-- The URLs that receive a tenant's events. A slot limits their number, also when requests race.
create table webhook_endpoints (
  tenant_id uuid not null,
  id uuid not null,
  slot smallint,
  url text not null,
  description text,
  event_types text[] not null,
  secret text,
  previous_secret text,
  previous_secret_expires_at timestamptz,
  second_previous_secret text,
  second_previous_secret_expires_at timestamptz,
  third_previous_secret text,
  third_previous_secret_expires_at timestamptz,
  status text not null default 'enabled',
  disabled_reason text,
  failing_since timestamptz,
  consecutive_failures integer not null default 0,
  paused_until timestamptz,
  created_at timestamptz not null default now(),
  constraint webhook_endpoints_tenant_id_id_pk primary key (tenant_id, id),
  constraint webhook_endpoints_one_per_slot unique (tenant_id, slot),
  constraint webhook_endpoints_tenant_id_tenants_id_fk foreign key (tenant_id) references tenants,
  constraint webhook_endpoints_status check (status in ('enabled', 'disabled', 'deleted')),
  constraint webhook_endpoints_event_types check (cardinality(event_types) > 0),
  constraint webhook_endpoints_slot check (
    (status = 'deleted') = (slot is null) and slot between 1 and 20
  ),
  constraint webhook_endpoints_secret check ((status = 'deleted') = (secret is null)),
  constraint webhook_endpoints_previous_secret check (
    (previous_secret is null) = (previous_secret_expires_at is null)
      and (previous_secret is null or secret is not null)
  ),
  constraint webhook_endpoints_earlier_secrets check (
    (second_previous_secret is null) = (second_previous_secret_expires_at is null)
      and (third_previous_secret is null) = (third_previous_secret_expires_at is null)
      and (second_previous_secret is null and third_previous_secret is null or secret is not null)
  ),
  constraint webhook_endpoints_disabled check (
    (status = 'disabled') = (disabled_reason is not null)
      and disabled_reason in ('gone', 'failing', 'requested')
  )
);
create index webhook_endpoints_by_id on webhook_endpoints (id);
create index webhook_endpoints_enabled on webhook_endpoints (tenant_id) where status = 'enabled';
create index webhook_endpoints_stopped on webhook_endpoints (tenant_id)
  where status = 'disabled' or (status = 'enabled' and paused_until is not null);

-- Each change of a status, of which clients learn.
create table events (
  tenant_id uuid not null,
  id uuid not null,
  type text not null,
  payment_id uuid,
  refund_id uuid,
  dispute_id uuid,
  endpoint_id uuid,
  object jsonb not null,
  idempotency_key text,
  created_at timestamptz not null default now(),
  constraint events_tenant_id_id_pk primary key (tenant_id, id),
  constraint events_payment foreign key (tenant_id, payment_id) references payments,
  constraint events_endpoint foreign key (tenant_id, endpoint_id) references webhook_endpoints,
  constraint events_resource_named check ((payment_id is null) = (endpoint_id is not null))
);
create index events_by_payment on events (tenant_id, payment_id, id);

-- The delivery of each event to each endpoint.
create table webhook_deliveries (
  tenant_id uuid not null,
  id uuid not null,
  event_id uuid not null,
  endpoint_id uuid not null,
  status text not null default 'pending',
  attempts integer not null default 0,
  schedule_step integer not null default 0,
  next_attempt_at timestamptz,
  created_at timestamptz not null default now(),
  constraint webhook_deliveries_tenant_id_id_pk primary key (tenant_id, id),
  constraint webhook_deliveries_once unique (tenant_id, event_id, endpoint_id),
  constraint webhook_deliveries_event foreign key (tenant_id, event_id) references events,
  constraint webhook_deliveries_endpoint foreign key (tenant_id, endpoint_id)
    references webhook_endpoints,
  constraint webhook_deliveries_status check (status in ('pending', 'succeeded', 'failed')),
  constraint webhook_deliveries_next check ((status = 'pending') = (next_attempt_at is not null)),
  constraint webhook_deliveries_counts check (attempts >= 0 and schedule_step >= 0)
);
create index webhook_deliveries_by_id on webhook_deliveries (id);
create index webhook_deliveries_by_endpoint on webhook_deliveries (tenant_id, endpoint_id, id);

-- The attempts at it. Append-only; bodies are not stored.
create table webhook_attempts (
  tenant_id uuid not null,
  id uuid not null,
  delivery_id uuid not null,
  number integer not null,
  started_at timestamptz not null,
  latency_ms integer not null,
  http_status smallint,
  error text,
  constraint webhook_attempts_tenant_id_id_pk primary key (tenant_id, id),
  constraint webhook_attempts_once unique (tenant_id, delivery_id, number),
  constraint webhook_attempts_delivery foreign key (tenant_id, delivery_id)
    references webhook_deliveries,
  constraint webhook_attempts_number check (number >= 1 and latency_ms >= 0),
  constraint webhook_attempts_answer check ((http_status is null) = (error is not null)),
  constraint webhook_attempts_http_status check (http_status between 100 and 999),
  constraint webhook_attempts_error check (
    error in (
      'url_refused', 'body_too_large', 'no_public_address', 'connection_failed', 'timeout'
    )
  )
);

-- The account of each provider in which the payments of this database were made.
create table provider_accounts (
  provider text primary key,
  account text not null,
  first_used_at timestamptz not null default now(),
  clocks_apart_at timestamptz,
  clocks_apart_seconds integer
);

-- The inbox of the provider's webhook events: each is stored once, before it is acknowledged. Its
-- tenant and payment come from metadata that may be wrong, so no foreign key covers them.
create table provider_events (
  provider text not null,
  id text not null,
  type text not null,
  about text not null default 'payment',
  object_id text not null,
  provider_payment_id text,
  tenant_id uuid,
  payment_id uuid,
  status text not null default 'pending',
  occurred_at timestamptz not null,
  received_at timestamptz not null default now(),
  settled_at timestamptz,
  constraint provider_events_provider_id_pk primary key (provider, id),
  constraint provider_events_status check (
    status in ('pending', 'applied', 'ignored', 'unmatched')
  ),
  constraint provider_events_about check (about in ('payment', 'dispute', 'early_fraud_warning')),
  constraint provider_events_settled check ((status = 'pending') = (settled_at is null)),
  constraint provider_events_subject check ((tenant_id is null) = (payment_id is null))
);
create index provider_events_open on provider_events (received_at)
  where status in ('pending', 'unmatched');
create index provider_events_settled on provider_events (settled_at)
  where settled_at is not null and type <> 'warning';
create index provider_events_by_payment on provider_events (tenant_id, payment_id)
  where payment_id is not null;

-- The comparisons of our records with the provider's. They cover all tenants of a provider.
create table reconciliation_runs (
  id uuid not null,
  provider text not null,
  window_from timestamptz not null,
  window_to timestamptz not null,
  status text not null default 'pending',
  requested_by text not null,
  counts jsonb not null default '{}',
  last_error text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint reconciliation_runs_id_pk primary key (id),
  constraint reconciliation_runs_window check (window_from < window_to),
  constraint reconciliation_runs_status check (
    status in ('pending', 'running', 'completed', 'failed')
  ),
  constraint reconciliation_runs_finished check (
    (status in ('completed', 'failed')) = (finished_at is not null)
  )
);
create index reconciliation_runs_newest on reconciliation_runs (created_at);

-- Problems that need a person. What is missing here may belong to no tenant: no foreign keys.
create table reconciliation_findings (
  id uuid not null,
  provider text not null,
  kind text not null,
  object_id text not null,
  run_id uuid,
  tenant_id uuid,
  payment_id uuid,
  refund_id uuid,
  operation_id uuid,
  ours jsonb,
  theirs jsonb,
  status text not null default 'open',
  opened_at timestamptz not null default now(),
  resolved_at timestamptz,
  resolved_by text,
  note text,
  constraint reconciliation_findings_id_pk primary key (id),
  constraint reconciliation_findings_once unique (provider, kind, object_id),
  constraint reconciliation_findings_run foreign key (run_id) references reconciliation_runs,
  constraint reconciliation_findings_kind check (
    kind in (
      'outcome_unknown', 'operation_abandoned', 'missing_here', 'missing_there', 'amount_differs',
      'currency_differs', 'status_differs', 'ledger_differs', 'charged_twice', 'held_twice',
      'refunded_twice', 'unknown_movement'
    )
  ),
  constraint reconciliation_findings_status check (status in ('open', 'resolved')),
  constraint reconciliation_findings_resolved check (
    (status = 'resolved') = (resolved_at is not null)
      and (status = 'resolved') = (resolved_by is not null)
  ),
  constraint reconciliation_findings_subject check (
    tenant_id is not null or (payment_id is null and refund_id is null and operation_id is null)
  )
);
create index reconciliation_findings_open on reconciliation_findings (opened_at)
  where status = 'open';
create index reconciliation_findings_of_run on reconciliation_findings (run_id);

-- The provider's objects that a run has compared. Deleted after the run.
create table reconciliation_seen (
  run_id uuid not null,
  object_id text not null,
  constraint reconciliation_seen_run_id_object_id_pk primary key (run_id, object_id),
  constraint reconciliation_seen_run foreign key (run_id) references reconciliation_runs
);

-- The audit trail of operators. Append-only. The time is the database's, and the id may not be
-- older, so that the service cannot write an action into the past.
create table admin_actions (
  id uuid not null,
  actor text not null,
  action text not null,
  subject text,
  details jsonb not null,
  happened_at timestamptz not null default now(),
  constraint admin_actions_id_pk primary key (id),
  constraint admin_actions_not_backdated check (
    place_of_id(id) / 4096 > (extract(epoch from happened_at) - 3600) * 1000
  )
);
create index admin_actions_by_subject on admin_actions (subject, happened_at);

-- The sessions of operators in the console.
create table console_sessions (
  token_hash bytea not null,
  operator text not null,
  key_proof bytea not null,
  created_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  constraint console_sessions_token_hash_pk primary key (token_hash)
);

-- Which API and worker processes run. Nothing depends on it.
create table service_processes (
  id uuid not null,
  kind text not null,
  host text not null,
  queues text[] not null,
  version text not null,
  circuits jsonb not null,
  started_at timestamptz not null,
  seen_at timestamptz not null default now(),
  constraint service_processes_id_pk primary key (id),
  constraint service_processes_kind check (kind in ('api', 'worker'))
);

-- A known text, sealed with each encryption key that a process has used.
create table encryption_seals (
  name text not null,
  sealed text,
  created_at timestamptz not null default now(),
  constraint encryption_seals_name_pk primary key (name)
);

-- The counts of requests that the API processes share, in the form of rate-limiter-flexible.
-- UNLOGGED: a count that is lost in a crash only begins again. The fill factor keeps updates in place.
create unlogged table rate_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
) with (fillfactor = 50);

-- Row-level security: a statement reads and writes only the rows of the tenants that it named. See
-- src/db/connection/transaction.ts. It is forced, so that the owner of the tables is no exception;
-- only superusers and roles with BYPASSRLS are. The sub-selects make Postgres read the setting once
-- per statement, not once per row.
do $$
declare
  secured text;
begin
  foreach secured in array array[
    'tenants', 'api_keys', 'provider_customers', 'payments', 'refunds', 'disputes',
    'idempotency_keys', 'key_replays', 'key_tombstones', 'phase_runs', 'ledger_postings',
    'webhook_endpoints', 'events', 'webhook_deliveries', 'webhook_attempts', 'provider_events',
    'reconciliation_findings'
  ] loop
    execute format(
      $policy$
        alter table %1$I enable row level security;
        alter table %1$I force row level security;
        create policy seen_by_its_tenant on %1$I using (
          (select current_setting('atomic.tenants', true) = '*')
          or %2$I = any ((
            select nullif(nullif(current_setting('atomic.tenants', true), '*'), '')::uuid[]
          )::uuid[])
        );
      $policy$,
      secured, case secured when 'tenants' then 'id' else 'tenant_id' end
    );
  end loop;
end $$;

-- Makes the id of a new row of a list, so that a reader by cursor can trust the order: see
-- docs/decisions/0065-lists-show-what-is-final.md. The id is greater than each id of the list that
-- was visible to another session when this function took its lock, also after the clock was set back.
-- The lock is shared, so that it waits for nothing. It ends with the transaction, after the row has
-- become visible, and names a time before the id, in units of 16 ms.
--
-- It looks only for ids after now: most times there is none. It would also find the newest of all, but
-- without statistics, as in a new database, it then sorts all ids of the tenant.
create function next_id(list text, tenant uuid) returns uuid
language plpgsql
as $$
declare
  us bigint := extract(epoch from clock_timestamp()) * 1000000;
  now_id uuid;
  newest uuid;
begin
  perform pg_advisory_xact_lock_shared(public.id_lock(tenant), (us / 16000 & 2147483647)::integer);
  us := greatest(us, extract(epoch from clock_timestamp()) * 1000000);
  now_id := public.first_id_of_place(us / 1000 * 4096 + us % 1000 * 4096 / 1000);
  case list
    when 'events' then
      select id into newest from public.events
      where tenant_id = tenant and id >= now_id order by id desc limit 1;
    when 'ledger' then
      select transaction_id into newest from public.ledger_postings
      where tenant_id = tenant and transaction_id >= now_id order by transaction_id desc limit 1;
    when 'admin_actions' then
      select id into newest from public.admin_actions
      where id >= now_id order by id desc limit 1;
  end case;
  if newest is not null then
    now_id := public.first_id_of_place(public.place_of_id(newest) + 1);
  end if;
  return (left(now_id::text, 18) || substr(gen_random_uuid()::text, 19))::uuid;
end
$$;

-- Rows whose id is above this one can still appear in the tenant's lists: a transaction that has
-- begun to write one is not visible yet. Null if there is none. Without a tenant: in the list of any
-- tenant, and at most the id of now.
create function first_id_in_flight(tenant uuid) returns uuid
language plpgsql
as $$
declare
  us bigint := extract(epoch from clock_timestamp()) * 1000000;
  place bigint;
begin
  -- A lock has the lower 31 bits of its time. The time is within half a year of now.
  select (
    us / 16000 - 1073741824 + min(objid::bigint - us / 16000 + 1073741824 & 2147483647)
  ) * 16 * 4096 into place
  from pg_locks
  where locktype = 'advisory' and objsubid = 2
    and database = (select oid from pg_database where datname = current_database())
    and case when tenant is null then classid::bigint & ~65535::bigint = 1515454464
      else classid::bigint = public.id_lock(tenant) end;
  if tenant is null then
    place := least(place, us / 1000 * 4096 + us % 1000 * 4096 / 1000);
  end if;
  return public.first_id_of_place(place);
end
$$;

-- How long the owner wants history to be kept. `npm run migrate` stores it; the service reads it.
create table retention_periods (
  records text primary key,
  days integer not null,
  constraint retention_periods_days check (days >= 0)
);

-- What is older than this may be deleted. Null if nothing may.
create function retention_ends(of_records text) returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select now() - days * interval '1 day'
  from public.retention_periods
  where records = of_records and days > 0
$$;

-- The functions below delete history, which the service may not. It calls delete_old_..., which keeps
-- what the owner wants to keep, and the last day: an intruder in the service can delete no more. The
-- functions delete_..._before are for the owner.
--
-- Each call deletes at most `most` rows, tenant by tenant: with Citus each statement goes to one node. It
-- skips the rows that another session deletes, because two sessions that wait for each other's rows deadlock.
create function delete_deliveries_before(before timestamptz, most integer) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  tenant uuid;
  old uuid[];
  deleted integer := 0;
begin
  if before > now() - interval '1 day' then return 0; end if;
  for tenant in select id from public.tenants loop
    old := array(
      select entry.id from public.webhook_deliveries as entry
      where entry.tenant_id = tenant and entry.id < public.first_id_at(before)
        and entry.status <> 'pending'
      order by entry.id limit most - deleted
      for update of entry skip locked
    );
    continue when old = '{}';
    delete from public.webhook_attempts where tenant_id = tenant and delivery_id = any (old);
    delete from public.webhook_deliveries where tenant_id = tenant and id = any (old);
    deleted := deleted + cardinality(old);
    exit when deleted >= most;
  end loop;
  return deleted;
end $$;

create function delete_phase_runs_before(before timestamptz, most integer) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  tenant uuid;
  old uuid[];
  deleted integer := 0;
begin
  if before > now() - interval '1 day' then return 0; end if;
  for tenant in select id from public.tenants loop
    old := array(
      select entry.id from public.phase_runs as entry
      where entry.tenant_id = tenant and entry.id < public.first_id_at(before) and not exists (
        -- The operation has no final answer yet.
        select from public.idempotency_keys as operation
        where operation.tenant_id = tenant and operation.id = entry.operation_id
          and operation.status <> 'completed'
      )
      order by entry.id limit most - deleted
      for update of entry skip locked
    );
    continue when old = '{}';
    delete from public.phase_runs where tenant_id = tenant and id = any (old);
    deleted := deleted + cardinality(old);
    exit when deleted >= most;
  end loop;
  return deleted;
end $$;

create function delete_events_before(before timestamptz, most integer) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  tenant uuid;
  old uuid[];
  deleted integer := 0;
begin
  if before > now() - interval '1 day' then return 0; end if;
  for tenant in select id from public.tenants loop
    old := array(
      select entry.id from public.events as entry
      where entry.tenant_id = tenant and entry.id < public.first_id_at(before) and not exists (
        select from public.webhook_deliveries as delivery
        where delivery.tenant_id = tenant and delivery.event_id = entry.id
      )
      order by entry.id limit most - deleted
      for update of entry skip locked
    );
    continue when old = '{}';
    delete from public.events where tenant_id = tenant and id = any (old);
    deleted := deleted + cardinality(old);
    exit when deleted >= most;
  end loop;
  return deleted;
end $$;

-- An action is as old as the database says, and not as its id.
create function delete_admin_actions_before(before timestamptz, most integer) returns bigint
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
  with old as materialized (
    select id from public.admin_actions
    where id < public.first_id_at(before) and happened_at < before
    order by id
    limit most
    for update skip locked
  ),
  deleted as (
    delete from public.admin_actions as entry using old
    where before <= now() - interval '1 day' and entry.id = old.id
    returning 1
  )
  select count(*) from deleted
$$;

-- The row of a payment stays, because the ledger and the reconciliation refer to it. Nothing that can
-- still change loses its history, and nothing younger than 400 days.
create function delete_payment_details_before(before timestamptz, most integer) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  tenant uuid;
  busy uuid[];
  doubted uuid[];
  old uuid[];
  old_events uuid[];
  old_deliveries uuid[];
  deleted integer := 0;
begin
  if before > now() - interval '400 days' then return 0; end if;
  -- Of one status each, so that each is found in an index.
  busy := array(
    select payment_id from public.idempotency_keys
    where status in ('pending', 'processing') and payment_id is not null
    union all
    select payment_id from public.idempotency_keys
    where status = 'unknown' and payment_id is not null
    union all
    select payment_id from public.idempotency_keys
    where status = 'failed_retryable' and payment_id is not null
  );
  doubted := array(
    select payment_id from public.reconciliation_findings
    where status = 'open' and payment_id is not null
  );
  for tenant in select id from public.tenants loop
    old := array(
      select entry.id from public.payments as entry
      where entry.tenant_id = tenant and entry.payment_method <> 'erased'
        and entry.created_at < before and entry.updated_at < before
        and entry.status in ('succeeded', 'declined', 'canceled')
        and entry.id <> all (busy) and entry.id <> all (doubted)
        and not exists (
          select from public.refunds
          where refunds.tenant_id = tenant and refunds.payment_id = entry.id and (
            refunds.updated_at >= before
            or refunds.status not in ('succeeded', 'failed', 'declined', 'canceled')
          )
        )
        and not exists (
          select from public.disputes
          where disputes.tenant_id = tenant and disputes.payment_id = entry.id and (
            disputes.updated_at >= before
            or disputes.status not in ('warning_closed', 'won', 'lost', 'prevented')
          )
        )
        and not exists (
          select from public.events
          join public.webhook_deliveries as delivery
            on delivery.tenant_id = tenant and delivery.event_id = events.id
          where events.tenant_id = tenant and events.payment_id = entry.id
            and delivery.status = 'pending'
        )
      order by entry.created_at limit most - deleted
      for update of entry skip locked
    );
    continue when old = '{}';
    old_events := array(
      select id from public.events where tenant_id = tenant and payment_id = any (old)
    );
    old_deliveries := array(
      select id from public.webhook_deliveries
      where tenant_id = tenant and event_id = any (old_events)
    );
    delete from public.webhook_attempts
      where tenant_id = tenant and delivery_id = any (old_deliveries);
    delete from public.webhook_deliveries where tenant_id = tenant and id = any (old_deliveries);
    delete from public.events where tenant_id = tenant and id = any (old_events);
    delete from public.phase_runs where tenant_id = tenant and payment_id = any (old);
    update public.refunds set metadata = '{}' where tenant_id = tenant and payment_id = any (old);
    update public.payments set
      payment_method = 'erased', customer = null, description = null, metadata = '{}',
      client_secret = null
      where tenant_id = tenant and id = any (old);
    deleted := deleted + cardinality(old);
    exit when deleted >= most;
  end loop;
  return deleted;
end $$;

do $$
declare
  records text;
begin
  foreach records in array '{deliveries,phase_runs,events,admin_actions,payment_details}'::text[] loop
    execute format(
      $function$
        create function delete_old_%1$s(before timestamptz, most integer) returns bigint
        language sql security definer set search_path = pg_catalog, pg_temp
        as $body$
          select coalesce(sum(public.delete_%1$s_before(least(before, ends), most)), 0)::bigint
          from public.retention_ends(%1$L) as ends
          where ends is not null and before <= now() - interval '1 day'
        $body$
      $function$,
      records
    );
    execute format(
      'revoke all on function delete_old_%1$s(timestamptz, integer), '
        'delete_%1$s_before(timestamptz, integer) from public',
      records
    );
  end loop;
end $$;
