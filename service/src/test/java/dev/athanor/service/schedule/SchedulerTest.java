package dev.athanor.service.schedule;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests every rule of the scheduler as a {@link History}. */
class SchedulerTest {

  @ParameterizedTest(name = "{0}")
  @MethodSource({"admission", "order", "batches", "devices", "ends", "drain"})
  void history(String rule, String history) {
    History.check(history);
  }

  static Stream<Arguments> admission() {
    return Stream.of(
        arguments(
            "tickets start immediately on an idle stream, otherwise when a stream is ready",
            """
            policy
            0   submit 1            | admit
            is  tickets=1 cost=100 bytes=0 busy=0 wake=never
            10  ready 0/0           | start 0/0: 1
            20  submit 2 bytes=7    | admit delay=90
            is  tickets=1 cost=100 bytes=7 busy=1
            110 finished 0/0 100    | done 1
            115 ready 0/0           | start 0/0: 2
            215 finished 0/0 100    | done 2
            220 ready 0/0           |
            230 submit 3            | admit; start 0/0: 3
            is  tickets=0 cost=0 bytes=0 busy=1
            """),
        arguments(
            "the delay includes tickets of the same band with no more time, rounded to powers of two",
            """
            policy
            0   submit 1 cost=1000 band=3         | admit
            0   submit 2 cost=1000                | admit
            0   submit 3 cost=100 deadline=900    | admit
            0   submit 4 cost=10 deadline=600     | admit delay=100
            0   submit 5 cost=1 deadline=500      | admit
            0   submit 6 deadline=5000            | admit delay=111
            0   submit 7                          | admit delay=1211
            0   submit 8 band=3                   | admit delay=2311
            """),
        arguments(
            "the number of waiting tickets is limited",
            """
            policy tickets=2
            0   ready 0/0           |
            0   submit 1 cost=3s    | admit; start 0/0: 1
            0   submit 2 cost=2s    | admit delay=3000000000
            0   submit 3 cost=2s    | admit delay=5000000000
            0   submit 4            | refuse queue-full retry=5
            1s  submit 5            | refuse queue-full retry=4
            3s  finished 0/0 3s     | done 1
            3s  ready 0/0           | start 0/0: 2
            3s  submit 6            | admit delay=4000000000
            3s  submit 7            | refuse queue-full retry=4
            """),
        arguments(
            "the cost of waiting tickets may reach the limit but not exceed it",
            """
            policy cost=300
            0   submit 1 cost=200   | admit
            0   submit 2 cost=101   | refuse queue-full retry=1
            0   submit 3 cost=100   | admit delay=200
            0   submit 4 cost=1     | refuse queue-full retry=1
            is  cost=300
            """),
        arguments(
            "the host bytes of waiting tickets are limited",
            """
            policy bytes=100
            0   submit 1 bytes=60   | admit
            0   submit 2 bytes=41   | refuse queue-full retry=1
            0   submit 3 bytes=40   | admit delay=100
            0   submit 4 bytes=0    | admit delay=200
            0   cancel 1            | drop 1
            0   submit 5 bytes=60   | admit delay=200
            is  bytes=100 tickets=3
            """),
        arguments(
            "a tenant may hold its share of what others leave of the queue",
            """
            policy tickets=5 share=0.5
            0   submit 11            | admit
            0   submit 12            | admit delay=100
            0   submit 13            | admit delay=200
            0   submit 14            | refuse queue-full retry=1
            0   submit 21 tenant=b   | admit
            0   submit 22 tenant=b   | refuse queue-full retry=1
            0   submit 31 tenant=c   | admit
            0   submit 41 tenant=d   | refuse queue-full retry=1
            0   ready 0/0            | start 0/0: 11
            1   submit 15            | refuse queue-full retry=1
            1   submit 42 tenant=d   | admit delay=99
            """),
        arguments(
            "tickets larger than the queue can run on an idle stream",
            """
            policy cost=300 bytes=100
            0   ready 0/0                      |
            0   submit 1 cost=400 bytes=1000   | admit; start 0/0: 1
            0   submit 2 cost=400              | refuse queue-full retry=1
            """),
        arguments(
            "the retry time depends on the starts on all devices",
            """
            policy devices=2 bytes=100
            0   ready 0/0                   |
            0   ready 1/0                   |
            0   submit 1 cost=10s           | admit; start 0/0: 1
            0   submit 2 cost=4s device=1   | admit; start 1/0: 2
            0   submit 3 cost=8s bytes=80 device=1 | admit delay=4000000000
            0   submit 4 bytes=100          | refuse queue-full retry=11
            0   submit 5 bytes=30           | refuse queue-full retry=5
            """),
        arguments(
            "continuations bypass the queue limits but count toward them",
            """
            policy tickets=1 bytes=100
            0   submit 1 bytes=60                      | admit
            0   submit 2 bytes=60 continuation=true    | admit delay=100
            0   submit 3 bytes=1                       | refuse queue-full retry=1
            0   submit 4 deadline=99 continuation=true | refuse deadline-exceeded
            is  tickets=2 bytes=120
            """),
        arguments(
            "tickets are rejected only if they cannot meet their deadline",
            """
            policy
            0   ready 0/0                          |
            0   submit 1 deadline=99               | refuse deadline-exceeded
            0   submit 2 deadline=100              | admit; start 0/0: 2
            10  submit 3 deadline=199              | refuse deadline-exceeded
            10  submit 4 deadline=200              | admit delay=90
            10  submit 5 deadline=299              | refuse deadline-exceeded
            10  submit 6 deadline=200 band=1       | admit delay=90
            10  submit 7 deadline=9                | refuse deadline-exceeded
            """),
        arguments(
            "the delay depends on the streams and the work of the device",
            """
            policy devices=2 streams=2
            0   submit 1 cost=100 device=0   | admit
            0   submit 2 cost=100 device=0   | admit delay=50
            0   submit 3 cost=40 device=1    | admit
            0   submit 4 device=1            | admit delay=20
            0   submit 5 device=0            | admit delay=100
            """),
        arguments(
            "the first measurement replaces the estimate; later ones have a weight of one eighth",
            """
            policy
            0    ready 0/0                 |
            0    submit 1 work=x cost=100  | admit; start 0/0: 1
            500  finished 0/0 500          | done 1
            500  submit 2 work=x cost=50   | admit cost=250
            500  submit 3 work=y cost=50   | admit delay=250
            500  ready 0/0                 | start 0/0: 2
            600  finished 0/0 50           | done 2
            600  submit 4 work=x cost=100  | admit cost=450 delay=50
            """),
        arguments(
            "rejections lower the estimate, so that one outlier does not block work forever",
            """
            policy
            0     ready 0/0                               |
            0     submit 1 work=x cost=100                | admit; start 0/0: 1
            1000  finished 0/0 1000                       | done 1
            1000  ready 0/0                               |
            1000  submit 2 work=x cost=100 deadline=1950  | refuse deadline-exceeded
            1000  submit 3 work=x cost=100 deadline=1950  | admit cost=875; start 0/0: 3
            """),
        arguments(
            "the time of a batch is divided by cost",
            """
            policy
            0    submit 1 work=x cost=100 batch=k:1  | admit
            0    submit 2 work=y cost=300 batch=k:1  | admit delay=100
            0    ready 0/0                           | start 0/0: 1 2
            9    finished 0/0 200                    | done 1; done 2
            9    submit 3 work=x cost=100            | admit cost=50
            9    submit 4 work=y cost=100            | admit cost=50 delay=50
            """));
  }

  static Stream<Arguments> order() {
    return Stream.of(
        arguments(
            "bands are strict; tickets without a band are in the middle one",
            """
            policy
            0  submit 1 band=3   | admit
            0  submit 2          | admit
            0  submit 3 band=1   | admit
            0  submit 4 band=2   | admit delay=200
            0  ready 0/0         | start 0/0: 3
            1  finished 0/0 100  | done 3
            1  ready 0/0         | start 0/0: 2
            2  finished 0/0 100  | done 2
            2  ready 0/0         | start 0/0: 4
            3  finished 0/0 100  | done 4
            3  ready 0/0         | start 0/0: 1
            """),
        arguments(
            "a ticket rises by one band per age, or by several at once",
            """
            policy age=1000
            0    submit 1 band=3              | admit
            1001 submit 2 band=2              | admit delay=100
            1002 ready 0/0                    | start 0/0: 1
            1003 submit 3 band=3              | admit delay=199
            3003 submit 4 band=1              | admit delay=200
            3003 finished 0/0 100             | done 1
            3003 ready 0/0                    | start 0/0: 2
            3003 finished 0/0 100             | done 2
            3003 ready 0/0                    | start 0/0: 3
            """),
        arguments(
            "tickets of a tenant are ordered by deadline, then by arrival",
            """
            policy
            0  submit 1                  | admit
            0  submit 2 deadline=9000    | admit
            0  submit 3 deadline=800     | admit
            0  submit 4 deadline=800     | admit delay=100
            0  ready 0/0                 | start 0/0: 3
            1  finished 0/0 100          | done 3
            1  ready 0/0                 | start 0/0: 4
            2  finished 0/0 100          | done 4
            2  ready 0/0                 | start 0/0: 2
            3  finished 0/0 100          | done 2
            3  ready 0/0                 | start 0/0: 1
            """),
        arguments(
            "a ticket without a deadline is due after it has aged through all bands",
            """
            policy age=1000
            0  submit 1                  | admit
            1  submit 2 deadline=3001    | admit delay=100
            1  submit 3 deadline=2999    | admit delay=200
            1  ready 0/0                 | start 0/0: 3
            2  finished 0/0 100          | done 3
            2  ready 0/0                 | start 0/0: 1
            """),
        arguments(
            "tenants take turns by cost: one large ticket equals four small ones",
            """
            policy
            0   submit 11 tenant=a cost=400  | admit
            0   submit 12 tenant=a cost=400  | admit delay=400
            0   submit 21 tenant=b           | admit
            0   submit 22 tenant=b           | admit delay=200
            0   submit 23 tenant=b           | admit delay=400
            0   submit 24 tenant=b           | admit delay=600
            0   submit 25 tenant=b           | admit delay=800
            0   ready 0/0         | start 0/0: 11
            1   finished 0/0 400  | done 11
            1   ready 0/0         | start 0/0: 21
            2   finished 0/0 100  | done 21
            2   ready 0/0         | start 0/0: 22
            3   finished 0/0 100  | done 22
            3   ready 0/0         | start 0/0: 23
            4   finished 0/0 100  | done 23
            4   ready 0/0         | start 0/0: 24
            5   finished 0/0 100  | done 24
            5   ready 0/0         | start 0/0: 12
            6   finished 0/0 400  | done 12
            6   ready 0/0         | start 0/0: 25
            """),
        arguments(
            "a tenant with many tickets gets no more than its share",
            """
            policy
            0   submit 11 tenant=a   | admit
            0   submit 12 tenant=a   | admit delay=100
            0   submit 13 tenant=a   | admit delay=200
            0   submit 21 tenant=b   | admit
            0   ready 0/0            | start 0/0: 11
            1   finished 0/0 100     | done 11
            1   ready 0/0            | start 0/0: 21
            2   finished 0/0 100     | done 21
            2   ready 0/0            | start 0/0: 12
            """),
        arguments(
            "while one tenant floods the queue, a ticket of another waits only for the running launch",
            """
            policy
            0    ready 0/0             |
            0    submit 11             | admit; start 0/0: 11
            0    submit 12             | admit delay=100
            0    submit 13             | admit delay=200
            100  finished 0/0 100      | done 11
            100  ready 0/0             | start 0/0: 12
            110  submit 14             | admit delay=190
            120  submit 21 tenant=b    | admit delay=80
            200  finished 0/0 100      | done 12
            200  ready 0/0             | start 0/0: 21
            300  finished 0/0 100      | done 21
            300  ready 0/0             | start 0/0: 13
            """),
        arguments(
            "a flood does not make another tenant miss its deadline",
            """
            policy
            0   ready 0/0                          |
            0   submit 11                          | admit; start 0/0: 11
            0   submit 12 band=1 cost=900          | admit delay=100
            0   submit 21 tenant=b deadline=200    | admit delay=100
            100 finished 0/0 100                   | done 11
            100 ready 0/0                          | start 0/0: 21
            """),
        arguments(
            "priorities order the tickets of one tenant, not tenants",
            """
            policy
            0   submit 11 band=1            | admit
            0   submit 12 band=1            | admit delay=100
            0   submit 21 tenant=b band=3   | admit
            0   submit 22 tenant=b band=1   | admit
            0   ready 0/0                   | start 0/0: 11
            1   finished 0/0 100            | done 11
            1   ready 0/0                   | start 0/0: 22
            2   finished 0/0 100            | done 22
            2   ready 0/0                   | start 0/0: 12
            3   finished 0/0 100            | done 12
            3   ready 0/0                   | start 0/0: 21
            """),
        arguments(
            "tenants share by weight",
            """
            policy weights=b:3
            0   submit 11 tenant=a cost=300  | admit
            0   submit 12 tenant=a cost=300  | admit delay=300
            0   submit 21 tenant=b cost=300  | admit
            0   submit 22 tenant=b cost=300  | admit delay=400
            0   submit 23 tenant=b cost=300  | admit delay=800
            0   submit 24 tenant=b cost=300  | admit delay=1200
            0   ready 0/0         | start 0/0: 11
            1   finished 0/0 300  | done 11
            1   ready 0/0         | start 0/0: 21
            2   finished 0/0 300  | done 21
            2   ready 0/0         | start 0/0: 22
            3   finished 0/0 300  | done 22
            3   ready 0/0         | start 0/0: 23
            4   finished 0/0 300  | done 23
            4   ready 0/0         | start 0/0: 12
            """),
        arguments(
            "tenants share each device separately",
            """
            policy devices=2
            0   submit 11 device=0            | admit
            0   submit 12 device=0            | admit delay=100
            0   submit 13 device=1            | admit
            0   submit 21 device=1 tenant=b   | admit
            0   ready 0/0                     | start 0/0: 11
            1   finished 0/0 100              | done 11
            1   ready 0/0                     | start 0/0: 12
            2   ready 1/0                     | start 1/0: 13
            3   finished 1/0 100              | done 13
            3   ready 1/0                     | start 1/0: 21
            """));
  }

  static Stream<Arguments> batches() {
    return Stream.of(
        arguments(
            "launches do not wait for a batch, but waiting tickets join",
            """
            policy
            0   ready 0/0                       |
            0   submit 1 batch=k:1              | admit; start 0/0: 1
            1   submit 2 batch=k:1              | admit delay=99
            1   submit 3 batch=other:1          | admit delay=199
            1   submit 4 batch=k:1 tenant=b     | admit delay=99
            1   submit 5                        | admit delay=399
            100 finished 0/0 100                | done 1
            100 ready 0/0                       | start 0/0: 4 2
            200 finished 0/0 200                | done 4; done 2
            200 ready 0/0                       | start 0/0: 3
            """),
        arguments(
            "the number of tickets in a launch is limited",
            """
            policy launch=2
            0   submit 1 batch=k:1   | admit
            0   submit 2 batch=k:1   | admit delay=100
            0   submit 3 batch=k:1   | admit delay=200
            0   ready 0/0            | start 0/0: 1 2
            """),
        arguments(
            "the number of rows in a launch is limited; smaller tickets fill the rest",
            """
            policy rows=10
            0   submit 1 batch=k:6   | admit
            0   submit 2 batch=k:5   | admit delay=100
            0   submit 3 batch=k:4   | admit delay=200
            0   ready 0/0            | start 0/0: 1 3
            """),
        arguments(
            "a ticket with more rows than the limit runs alone",
            """
            policy rows=10
            0   submit 1 batch=k:60  | admit
            0   submit 2 batch=k:1   | admit delay=100
            0   ready 0/0            | start 0/0: 1
            """),
        arguments(
            "a batch must not delay a member past its deadline: three tickets would delay ticket 1",
            """
            policy
            0   submit 1 deadline=250 batch=k:1   | admit
            0   submit 2 batch=k:1                | admit delay=100
            0   submit 3 batch=k:1                | admit delay=200
            0   ready 0/0                         | start 0/0: 1 2
            """),
        arguments(
            "a ticket does not join a launch that ends after its deadline",
            """
            policy
            0   submit 1 batch=k:1                          | admit
            0   submit 2 batch=k:1 tenant=b deadline=250    | admit
            60  ready 0/0                                   | start 0/0: 1
            """),
        arguments(
            "batches contain tickets of one band",
            """
            policy
            0   submit 1 band=3 batch=k:1   | admit
            0   submit 2 band=1 batch=k:1   | admit
            0   submit 3 band=2             | admit delay=100
            0   submit 4 band=1 batch=k:1   | admit delay=100
            0   ready 0/0                   | start 0/0: 2 4
            1   finished 0/0 200            | done 2; done 4
            1   ready 0/0                   | start 0/0: 3
            """),
        arguments(
            "batches contain tickets of one device",
            """
            policy devices=2
            0   submit 1 batch=k:1 device=0   | admit
            0   submit 2 batch=k:1 device=1   | admit
            0   submit 3 batch=k:1 device=1   | admit delay=100
            0   ready 1/0                     | start 1/0: 2 3
            """),
        arguments(
            "a tenant pays back the service that it got ahead in batches",
            """
            policy arrears=300
            0   submit 11 tenant=a batch=k:1   | admit
            0   submit 12 tenant=a batch=k:1   | admit delay=100
            0   submit 13 tenant=a batch=k:1   | admit delay=200
            0   submit 21 tenant=b             | admit
            0   submit 22 tenant=b             | admit delay=200
            0   submit 23 tenant=b             | admit delay=400
            0   ready 0/0            | start 0/0: 11 12 13
            1   submit 14 tenant=a   | admit delay=599
            1   finished 0/0 300     | done 11; done 12; done 13
            1   ready 0/0            | start 0/0: 21
            2   finished 0/0 100     | done 21
            2   ready 0/0            | start 0/0: 22
            3   finished 0/0 100     | done 22
            3   ready 0/0            | start 0/0: 23
            4   finished 0/0 100     | done 23
            4   ready 0/0            | start 0/0: 14
            """),
        arguments(
            "a tenant gets ahead in batches by at most the arrears",
            """
            policy arrears=150
            0   submit 11 tenant=a batch=k:1   | admit
            0   submit 12 tenant=a batch=k:1   | admit delay=100
            0   submit 13 tenant=a batch=k:1   | admit delay=200
            0   submit 21 tenant=b             | admit
            0   ready 0/0            | start 0/0: 11 12
            """),
        arguments(
            "the arrears limit a tenant that is alone, too: others may arrive during the launch",
            """
            policy arrears=100
            0   submit 11 tenant=a batch=k:1   | admit
            0   submit 12 tenant=a batch=k:1   | admit delay=100
            0   submit 13 tenant=a batch=k:1   | admit delay=200
            0   ready 0/0            | start 0/0: 11 12
            1   submit 21 tenant=b   | admit delay=199
            2   finished 0/0 200     | done 11; done 12
            2   ready 0/0            | start 0/0: 21
            """),
        arguments(
            "a tenant that was alone owes to later tenants only its latest launch",
            """
            policy arrears=100
            0   submit 11 tenant=a cost=1000   | admit
            0   submit 12 tenant=a batch=k:1   | admit delay=1000
            0   submit 13 tenant=a batch=k:1   | admit delay=1100
            0   submit 14 tenant=a             | admit delay=1200
            0   ready 0/0            | start 0/0: 11
            1   finished 0/0 1000    | done 11
            1   ready 0/0            | start 0/0: 12 13
            2   submit 21 tenant=b   | admit delay=199
            2   submit 22 tenant=b   | admit delay=299
            2   submit 23 tenant=b   | admit delay=399
            2   finished 0/0 200     | done 12; done 13
            2   ready 0/0            | start 0/0: 21
            3   finished 0/0 100     | done 21
            3   ready 0/0            | start 0/0: 22
            4   finished 0/0 100     | done 22
            4   ready 0/0            | start 0/0: 14
            """));
  }

  static Stream<Arguments> devices() {
    return Stream.of(
        arguments(
            "tickets wait for their device",
            """
            policy devices=2
            0   ready 1/0           |
            0   submit 1 device=0   | admit
            0   submit 2 device=1   | admit; start 1/0: 2
            0   submit 3 device=0   | admit delay=100
            0   submit 4 device=1   | admit delay=100
            0   finished 1/0 100    | done 2
            0   ready 1/0           | start 1/0: 4
            0   ready 0/0           | start 0/0: 1
            """),
        arguments(
            "the quietest device has an idle stream, or else the shortest delay",
            """
            policy devices=2
            0   ready 0/0                    |
            is  first=0/0 quietest=0
            0   submit 1 device=0            | admit; start 0/0: 1
            is  first=0/1 quietest=1
            0   ready 1/0                    |
            is  quietest=1
            500 submit 2 device=1 cost=50    | admit; start 1/0: 2
            is  first=0/1 quietest=0
            501 submit 3 device=0 cost=100   | admit
            is  first=1/1 quietest=1
            502 lost 1                       | fail 2 device-lost
            is  first=1/1 quietest=0
            503 lost 0                       | fail 1 device-lost; fail 3 device-lost
            is  first=0/0 quietest=none
            """),
        arguments(
            "among devices with idle streams, the one with the least work is the quietest",
            """
            policy devices=2 streams=2
            0   ready 0/0                     |
            0   ready 0/1                     |
            0   ready 1/0                     |
            0   ready 1/1                     |
            is  quietest=0
            0   submit 1 cost=500 device=0    | admit; start 0/0: 1
            is  quietest=1
            0   submit 2 cost=600 device=1    | admit; start 1/0: 2
            is  quietest=0
            0   submit 3 cost=200 device=0    | admit; start 0/1: 3
            is  quietest=1
            """),
        arguments(
            "a lost device fails its running and waiting tickets",
            """
            policy devices=2
            0   ready 0/0                  |
            0   ready 1/0                  |
            0   submit 1 cost=500          | admit; start 0/0: 1
            0   submit 2 device=1          | admit; start 1/0: 2
            0   submit 3 device=0          | admit delay=500
            0   submit 4 device=1          | admit delay=100
            10  lost 0                     | fail 1 device-lost; fail 3 device-lost
            is  ready=true tickets=1 busy=1
            11  lost 0                     |
            12  finished 0/0 12            |
            12  ready 0/0                  |
            13  submit 5 device=0          | refuse device-lost
            100 finished 1/0 100           | done 2
            100 ready 1/0                  | start 1/0: 4
            101 lost 1                     | fail 4 device-lost
            is  ready=false phase=SERVING tickets=0 busy=0
            102 submit 6                   | refuse device-lost
            """),
        arguments(
            "losing the last device fails all waiting tickets",
            """
            policy
            0   submit 1    | admit
            0   submit 2    | admit delay=100
            0   lost 0      | fail 1 device-lost; fail 2 device-lost
            0   ready 0/0   |
            """));
  }

  static Stream<Arguments> ends() {
    return Stream.of(
        arguments(
            "a waiting ticket expires after its deadline",
            """
            policy
            0    submit 1 deadline=1000   | admit
            is   wake=1001
            1000 tick                     |
            1001 tick                     | expire 1
            is   wake=never tickets=0 cost=0
            1002 ready 0/0                |
            1003 cancel 1                 |
            """),
        arguments(
            "tickets do not start after their deadline, even without a tick",
            """
            policy
            0    submit 1 deadline=1000   | admit
            0    submit 2 deadline=2000   | admit delay=100
            1001 ready 0/0                | expire 1; start 0/0: 2
            """),
        arguments(
            "a running ticket expires at its deadline; its launch continues",
            """
            policy
            0    ready 0/0                          |
            0    submit 1 deadline=1000 batch=k:1   | admit; start 0/0: 1
            1001 tick                               | expire 1
            is   busy=1 wake=never
            1500 finished 0/0 1500                  |
            1500 ready 0/0                          |
            """),
        arguments(
            "a ticket that finishes after its deadline expires",
            """
            policy
            0    ready 0/0                |
            0    submit 1 deadline=1000   | admit; start 0/0: 1
            1001 finished 0/0 1001        | expire 1
            """),
        arguments(
            "a canceled ticket is dropped from the queue or from its launch",
            """
            policy
            0    submit 1 batch=k:1   | admit
            0    submit 2 batch=k:1   | admit delay=100
            0    submit 3 batch=k:1   | admit delay=200
            0    cancel 2             | drop 2
            0    cancel 2             |
            0    ready 0/0            | start 0/0: 1 3
            1    cancel 3             | drop 3
            9    finished 0/0 9       | done 1
            9    cancel 1             |
            """),
        arguments(
            "a fault fails only its launch, and IDs can be reused",
            """
            policy
            0    submit 1 batch=k:1   | admit
            0    submit 2 batch=k:1   | admit delay=100
            0    submit 3             | admit delay=200
            0    ready 0/0            | start 0/0: 1 2
            1    cancel 2             | drop 2
            5    faulted 0/0          | fail 1 fault
            6    ready 0/0            | start 0/0: 3
            7    submit 1             | admit delay=99
            """),
        arguments(
            "time does not go backward",
            """
            policy
            1000 submit 1 deadline=2000   | admit
            10   submit 2 deadline=1099   | refuse deadline-exceeded
            """));
  }

  static Stream<Arguments> drain() {
    return Stream.of(
        arguments(
            "a drain ends readiness, then admission, then finishes admitted work",
            """
            policy drainDelay=5s drainTimeout=20s
            0    ready 0/0                                  |
            0    submit 1 cost=6s                           | admit; start 0/0: 1
            is   ready=true phase=SERVING wake=never
            1s   drain                                      |
            is   ready=false phase=LEAVING wake=6000000000
            2s   submit 2 cost=3s                           | admit delay=4000000000
            6s   submit 3                                   | refuse draining retry=3
            is   ready=false phase=REFUSING wake=26000000000
            7s   finished 0/0 7s                            | done 1
            7s   ready 0/0                                  | start 0/0: 2
            8s   submit 4                                   | refuse draining retry=2
            8s   submit 5 cost=1s work=up continuation=true | admit delay=2000000000
            10s  finished 0/0 3s                            | done 2
            10s  ready 0/0                                  | start 0/0: 5
            11s  finished 0/0 1s                            | done 5; drained
            is   ready=false phase=DRAINED wake=never
            11s  submit 6 continuation=true                 | refuse draining retry=1
            11s  submit 7                                   | refuse draining retry=1
            11s  tick                                       |
            11s  drain                                      |
            11s  ready 0/0                                  |
            """),
        arguments(
            "an idle drain ends after the drain delay",
            """
            policy drainDelay=5s
            0    drain   |
            4s   tick    |
            5s   tick    | drained
            """),
        arguments(
            "an idle drain without a drain delay ends immediately",
            """
            policy
            0    drain   | drained
            """),
        arguments(
            "the drain timeout fails all remaining tickets without waiting for launches",
            """
            policy drainDelay=5s drainTimeout=20s
            0    ready 0/0            |
            0    submit 1 cost=100s   | admit; start 0/0: 1
            0    submit 2             | admit delay=100000000000
            0    drain                |
            6s   submit 3             | refuse draining retry=19
            24s  tick                 |
            25s  tick                 | fail 1 draining retry=1; fail 2 draining retry=1; drained
            99s  finished 0/0 99s     |
            99s  ready 0/0            |
            """),
        arguments(
            "a second drain ends immediately",
            """
            policy drainDelay=5s drainTimeout=20s
            0    ready 0/0            |
            0    submit 1             | admit; start 0/0: 1
            0    submit 2             | admit delay=100
            0    drain                |
            1    drain                | fail 1 draining retry=1; fail 2 draining retry=1; drained
            """),
        arguments(
            "a drain waits for launches of canceled tickets, and until the last ticket is dropped",
            """
            policy
            0    ready 0/0            |
            0    submit 1             | admit; start 0/0: 1
            0    submit 2             | admit delay=100
            0    drain                |
            1    cancel 1             | drop 1
            2    cancel 2             | drop 2
            3    finished 0/0 3       | drained
            """),
        arguments(
            "losing the device ends a drain early",
            """
            policy
            0    ready 0/0            |
            0    submit 1             | admit; start 0/0: 1
            0    drain                |
            1    lost 0               | fail 1 device-lost; drained
            """));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          submit 1 device=2  | unknown device 2; the last is 1
          submit 1 band=4    | unknown band 4; the last is 3
          submit 7           | ticket 7 already exists; ids must be unique
          submit 1 device=-1 | a ticket's device must be at least 0, got -1
          submit 1 cost=0    | a ticket's cost must be at least 1, got 0
          submit 1 batch=k:0 | a ticket's rows must be at least 1, got 0
          ready 2/0          | unknown device 2; the last is 1
          ready 0/1          | unknown stream 1; the last is 0
          ready 0/0          | stream 0 of device 0 is already busy and cannot become ready
          ready 1/0          | stream 0 of device 1 is already idle and cannot become ready
          finished 1/0 5     | stream 0 of device 1 has no running launch
          faulted 1/0        | stream 0 of device 1 has no running launch
          lost 2             | unknown device 2; the last is 1
          """)
  void rejectsImpossibleEvents(String event, String message) {
    assertThatThrownBy(() ->
            History.check(
                """
                policy devices=2
                0 ready 0/0          |
                0 ready 1/0          |
                0 submit 7 device=0  | admit; start 0/0: 7
                1 %s |
                """
                    .formatted(event)))
        .hasMessage(message);
  }

  /** A rejected event changes nothing and withholds no decision. */
  @Test
  void impossibleEventsChangeNothing() {
    var scheduler = new Scheduler(Policy.DEFAULT, 1, 1);
    var ticket = new Ticket(1, "a", Ticket.MIDDLE, 1000, "op", 10, 0, 0, false, null);
    scheduler.on(0, new Event.Submit(ticket));
    assertThatThrownBy(() -> scheduler.on(2000, new Event.Faulted(0, 0)))
        .isInstanceOf(IllegalStateException.class);
    assertThat(scheduler.on(1001, new Event.Tick())).containsExactly(new Decision.Expired(ticket));
  }

  @Test
  void rejectsInvalidPolicies() {
    var valid = Policy.DEFAULT;
    assertThatThrownBy(() ->
            new Policy(
                0,
                valid.age(),
                valid.arrears(),
                valid.queue(),
                valid.batch(),
                valid.drainDelay(),
                valid.drainTimeout(),
                valid.shares()))
        .hasMessage("the number of bands must be at least 1, got 0");
    assertThatThrownBy(() -> new Policy.Queue(1, Duration.ZERO, 1))
        .hasMessage("the queue's cost must be positive, got PT0S");
    assertThatThrownBy(() -> new Policy.Launch(0, 1))
        .hasMessage("a launch's tickets must be at least 1, got 0");
  }
}
