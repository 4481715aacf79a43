import './in-parts.ts'
import '../../../db/operations/lease-guards.test.ts'
