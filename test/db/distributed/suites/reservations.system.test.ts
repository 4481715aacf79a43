import './in-parts.ts'
import '../../../db/idempotency/batch-reservations.test.ts'
