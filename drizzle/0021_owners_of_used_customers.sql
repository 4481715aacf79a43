-- Gives each customer that payments have used to the tenant that used it: to the only one, and only
-- if the provider has accepted it. The rest is for the operator, and `npm run tenants --
-- unowned-customers` lists it.
--
-- It reads `payments` once, and keeps no lock on it that a writer would have to wait for.
SELECT set_config('atomic.tenants', '*', true);--> statement-breakpoint
INSERT INTO provider_customers (tenant_id, provider, id)
SELECT (array_agg(tenant_id))[1], provider, customer
FROM (
	SELECT tenant_id, provider, customer, bool_or(provider_payment_id IS NOT NULL) AS accepted
	FROM payments WHERE customer IS NOT NULL GROUP BY tenant_id, provider, customer
) AS used
GROUP BY provider, customer
HAVING count(*) = 1 AND bool_and(accepted)
ON CONFLICT DO NOTHING;
